// Package lkeplan is the root of a program, not a library: it holds the tests
// that are about the whole tree. Start reading at cmd/lkeplan and at engine.
package lkeplan

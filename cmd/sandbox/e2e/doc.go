// Package e2e holds the tests that need a whole cluster: the real binaries in a
// sandbox, with a real API server and scheduler.
package e2e

// Package e2e holds the tests that need a whole cluster: the real binaries in
// a sandbox, with a real API server, scheduler and Karpenter core.
package e2e

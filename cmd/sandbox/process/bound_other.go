//go:build !linux

package process

import "syscall"

// dieWithParent does nothing: only Linux ties a child's life to its parent's.
// Elsewhere a sandbox that was killed outright is ended by `sandbox down --dir`.
func dieWithParent(*syscall.SysProcAttr) {}

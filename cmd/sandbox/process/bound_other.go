//go:build !linux

package process

import "syscall"

// dieWithParent does nothing, because only Linux can kill a child with its parent. On other systems `sandbox down
// --dir` ends a sandbox whose parent was killed.
func dieWithParent(*syscall.SysProcAttr) {}

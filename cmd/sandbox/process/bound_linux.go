package process

import "syscall"

// dieWithParent makes the kernel kill the child when the thread that starts it ends; see Guard.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

package confine

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forbidden are system calls that no child needs and that start programs or access other processes.
// io_uring is forbidden because a filter does not see its operations.
func forbidden() []uint32 {
	return []uint32{
		unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
		unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PIDFD_GETFD,
		unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_IO_URING_SETUP, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT,
	}
}

// The offsets in seccomp's data: the number of a call, the architecture, and the arguments.
const (
	atNumber, atArch = 0, 4
	atFirst, atThird = 16, 32 // the lower halves, on little-endian machines
)

// filterCalls makes the kernel refuse the forbidden calls in all threads of this process. Without
// network it cannot create sockets, and with network only IP sockets. MPTCP is refused because
// Landlock does not check its ports.
func filterCalls(network bool) error {
	arch := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if arch == 0 {
		return nil
	}
	program := callFilter(arch, uint32(os.Getpid()), network)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&filter)))
	if errno != 0 && !errors.Is(errno, unix.ENOSYS) && !errors.Is(errno, unix.EINVAL) { // the kernel has no such call
		return fmt.Errorf("filter system calls: %w", errno)
	}
	if errno == 0 && thread != 0 {
		return fmt.Errorf("filter system calls: thread %d has a different filter", thread)
	}
	return nil
}

// callFilter is the program that the kernel runs for each call of the process pid. The operand of a
// jump is the number of instructions to skip.
func callFilter(arch, pid uint32, network bool) []unix.SockFilter {
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	equal := func(k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: yes, Jf: no, K: k}
	}
	end := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	refuse, allow := end(unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM)), end(unix.SECCOMP_RET_ALLOW)

	const x32 = 0x40000000 // the calls of another interface on amd64
	program := []unix.SockFilter{
		load(atArch), equal(arch, 1, 0), refuse,
		load(atNumber), {Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, Jt: 0, Jf: 1, K: x32}, refuse,
	}
	for _, call := range forbidden() {
		program = append(program, equal(call, 0, 1), refuse)
	}
	// Go stops its threads with signals.
	program = append(program, equal(unix.SYS_TGKILL, 0, 4), load(atFirst), equal(pid, 1, 0), refuse, allow)
	if !network {
		return append(program, equal(unix.SYS_SOCKET, 0, 1), refuse, allow)
	}
	return append(program, equal(unix.SYS_SOCKET, 1, 0), allow,
		load(atFirst), equal(unix.AF_INET, 2, 0), equal(unix.AF_INET6, 1, 0), refuse,
		load(atThird), equal(unix.IPPROTO_MPTCP, 0, 1), refuse, allow)
}

package confine

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock returns the version of the kernel's Landlock; 0 if it has none, or does not allow this
// process to use it. It can restrict files since version 1, TCP since 4, and abstract sockets since
// 6.
//
// Unverified: that the nodes of LKE have it, and that the seccomp profile of their container runtime
// allows its system calls.
func Landlock() int {
	version, err := landlockCall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if err != nil {
		return 0
	}
	return version
}

// The file rights in the versions of Landlock.
const (
	rightsToRead  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	rightsToRun   = rightsToRead | unix.LANDLOCK_ACCESS_FS_EXECUTE
	rightsToWrite = rightsToRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REFER
	rightsOfFiles = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// handled are the rights that a version can restrict: without a rule they are denied.
func handled(version int) unix.LandlockRulesetAttr {
	attr := unix.LandlockRulesetAttr{Access_fs: 1<<13 - 1}
	for since, right := range map[int]uint64{
		2: unix.LANDLOCK_ACCESS_FS_REFER, 3: unix.LANDLOCK_ACCESS_FS_TRUNCATE, 5: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV,
	} {
		if version >= since {
			attr.Access_fs |= right
		}
	}
	if version >= 4 {
		attr.Access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	return attr
}

// restrictThread restricts this thread, and the processes that it starts, to what the child may do.
func (c Child) restrictThread(program string) error {
	version := Landlock()
	if version == 0 {
		return nil
	}
	rules, err := newRuleset(handled(version))
	if err != nil {
		return err
	}
	defer unix.Close(rules.fd)
	// For a program that is not static: its interpreter and libraries.
	system := []string{"/bin", "/lib", "/lib64", "/usr", "/etc/ld.so.cache"}
	err = errors.Join(
		rules.allow(rightsToRun, append(system, program)...),
		rules.allow(rightsToRead|unix.LANDLOCK_ACCESS_FS_WRITE_FILE, os.DevNull),
		rules.allow(rightsToRead, c.Read...),
		rules.allow(rightsToWrite, c.Write...),
		rules.connect(c.Ports...))
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("restrict a child: %w", err)
	}
	if _, err := landlockCall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules.fd), 0, 0); err != nil {
		return fmt.Errorf("restrict a child: %w", err)
	}
	return nil
}

// ruleset is a set of Landlock rules.
type ruleset struct {
	fd      int
	handled unix.LandlockRulesetAttr
}

func newRuleset(attr unix.LandlockRulesetAttr) (ruleset, error) {
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return ruleset{}, fmt.Errorf("create Landlock rules: %w", errno)
	}
	return ruleset{int(fd), attr}, nil
}

// allow allows rights below paths. Paths that do not exist are skipped.
func (r ruleset) allow(rights uint64, paths ...string) error {
	for _, path := range paths {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return fmt.Errorf("open %s for a rule: %w", path, err)
		}
		err = r.allowBelow(fd, rights)
		unix.Close(fd)
		if err != nil {
			return fmt.Errorf("add a rule for %s: %w", path, err)
		}
	}
	return nil
}

func (r ruleset) allowBelow(fd int, rights uint64) error {
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return err
	}
	if info.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= rightsOfFiles
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights & r.handled.Access_fs, Parent_fd: int32(fd)}
	return r.add(unix.LANDLOCK_RULE_PATH_BENEATH, unsafe.Pointer(&rule))
}

// connect allows connections to TCP ports.
func (r ruleset) connect(ports ...uint16) error {
	const rulePort = 2 // LANDLOCK_RULE_NET_PORT
	if r.handled.Access_net == 0 {
		return nil
	}
	for _, port := range ports {
		rule := struct{ allowed, port uint64 }{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(port)}
		if err := r.add(rulePort, unsafe.Pointer(&rule)); err != nil {
			return fmt.Errorf("add a rule for port %d: %w", port, err)
		}
	}
	return nil
}

func (r ruleset) add(kind uintptr, rule unsafe.Pointer) error {
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), kind, uintptr(rule), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func landlockCall(number, a, b, c uintptr) (int, error) {
	result, _, errno := unix.Syscall(number, a, b, c)
	if errno != 0 {
		return 0, errno
	}
	return int(result), nil
}

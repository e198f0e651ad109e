//go:build linux

// Inside runs in the namespaces of a machine before its systemd does, and in its pods: it is the
// only program that is in both. It is built without C, so that it is static.
//
//	inside boot     creates the machine's file system from $MACHINE and runs systemd: see package machine
//	inside serve    answers HTTP at port 8080, in a pod
//	inside          waits, as the pause container does
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lkeplan/lkeplan/cmd/sandbox/machine"
)

func main() {
	var err error
	switch strings.Join(os.Args[1:], " ") {
	case "boot":
		err = boot()
	case "serve":
		err = http.ListenAndServe(":8080", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(w, "served")
		}))
	default:
		pause()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "inside:", err)
		os.Exit(1)
	}
}

// pause waits for a signal to end, and reaps the processes that its pod leaves behind.
func pause() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		for {
			if _, err := syscall.Wait4(-1, nil, 0, nil); err != nil {
				time.Sleep(time.Second) // there is no child process
			}
		}
	}()
	<-end
}

// boot creates the file system of a machine, and becomes its systemd. It already is process 1 of the machine, in
// all namespaces except that of cgroups.
func boot() error {
	runtime.LockOSThread()
	var s machine.Spec
	if err := json.Unmarshal([]byte(os.Getenv("MACHINE")), &s); err != nil {
		return fmt.Errorf("read $MACHINE: %w", err)
	}
	// The network is ready when standard input is closed.
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	for _, g := range s.Cgroups {
		if err := os.WriteFile(filepath.Join(g.Dir, "cgroup.procs"), []byte("0"), 0); err != nil {
			return err
		}
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("make a cgroup namespace: %w", err)
	}
	root := filepath.Join(s.Dir, "root")
	if err := fileSystems(s, root); err != nil {
		return err
	}
	if err := become(root); err != nil {
		return err
	}
	// systemd refuses cgroup v1 unless it is in a container.
	return syscall.Exec("/lib/systemd/systemd", []string{"systemd", "--log-target=console", "--show-status=yes"},
		[]string{"container=lkeplan", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "TERM=dumb"})
}

// mounts makes changes to a file system. After an error it makes no more.
type mounts struct {
	root string
	err  error
}

func (m *mounts) mount(kind, at string, flags uintptr, options string) {
	if m.err == nil {
		m.make(at)
	}
	if m.err == nil {
		m.err = named(kind+" at "+at, unix.Mount(kind, m.root+at, kind, flags, options))
	}
}

func (m *mounts) make(dir string) { m.err = os.MkdirAll(m.root+dir, 0o755) }

// bind mounts a directory or a file at another path of the machine.
func (m *mounts) bind(from, at string) {
	if m.err == nil {
		m.err = named(from+" at "+at, unix.Mount(from, m.root+at, "", unix.MS_BIND, ""))
	}
}

// write replaces a file with a text.
func (m *mounts) write(dir, at, text string) {
	if m.err != nil {
		return
	}
	from := filepath.Join(dir, strings.ReplaceAll(strings.Trim(at, "/"), "/", "."))
	m.err = os.WriteFile(from, []byte(text), 0o644)
	if m.err == nil {
		m.bind(from, at)
	}
}

func (m *mounts) remount(at string, flags uintptr) {
	if m.err == nil {
		m.err = named("remount "+at, unix.Mount("", m.root+at, "", unix.MS_REMOUNT|unix.MS_BIND|flags, ""))
	}
}

func named(what string, err error) error {
	if err != nil {
		return fmt.Errorf("mount %s: %w", what, err)
	}
	return nil
}

// hostWide are kernel settings that a kubelet sets, and that belong to the host.
var hostWide = map[string]string{
	"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
	"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
}

// fileSystems mounts everything that a machine sees. It can write only the kernel settings of its own network.
func fileSystems(s machine.Spec, root string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return named("all for itself", err)
	}
	m := &mounts{root: root}
	overlay := fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work", s.Image, s.Dir, s.Dir)
	m.mount("overlay", "", 0, overlay)
	for _, own := range []string{"containerd", "kubelet"} { // containerd uses overlays, and an overlay cannot be on another one
		at := "/var/lib/" + own
		m.make(at)
		m.bind(filepath.Join(s.Dir, own), at)
	}
	for at, kib := range s.Small {
		m.mount("tmpfs", at, 0, fmt.Sprintf("size=%dk", kib))
	}
	m.mount("proc", "/proc", 0, "")
	m.mount("sysfs", "/sys", unix.MS_RDONLY, "")
	m.bind(root+"/proc/sys", "/proc/sys")
	m.bind(root+"/proc/sys/net", "/proc/sys/net")
	m.remount("/proc/sys", unix.MS_RDONLY)
	if s.NoForwarding {
		m.remount("/proc/sys/net", unix.MS_RDONLY)
	}
	for at, value := range hostWide {
		m.write(s.Dir, "/proc/sys/"+at, value+"\n")
	}
	if s.SwapMiB > 0 {
		m.write(s.Dir, "/proc/swaps", fmt.Sprintf("Filename\tType\tSize\tUsed\tPriority\n/dev/sdb partition %d 0 "+
			"-2\n", s.SwapMiB<<10))
	}
	cgroups(m, s)
	m.mount("tmpfs", "/dev", 0, "mode=755,size=8m")
	if m.err == nil {
		m.err = devices(root)
	}
	m.mount("devpts", "/dev/pts", 0, "newinstance,ptmxmode=0666,mode=620,gid=5")
	m.mount("tmpfs", "/dev/shm", 0, "mode=1777")
	m.make("/dev/mqueue")
	m.bind(s.Console, "/dev/console")
	m.mount("tmpfs", "/run", 0, "mode=755,size=512m")
	return m.err
}

// cgroups mounts the machine's own cgroups in the host's layout: one hierarchy, or one for each controller.
func cgroups(m *mounts, s machine.Spec) {
	if len(s.Cgroups) == 1 && s.Cgroups[0].Controllers == "" {
		m.mount("cgroup2", "/sys/fs/cgroup", 0, "")
		return
	}
	m.mount("tmpfs", "/sys/fs/cgroup", 0, "mode=755,size=8m")
	for _, g := range s.Cgroups {
		at := "/sys/fs/cgroup/" + g.Name
		if g.Controllers == "" {
			m.mount("cgroup2", at, 0, "")
		} else {
			m.mount("cgroup", at, 0, g.Controllers)
		}
	}
}

func devices(root string) error {
	for _, d := range []struct {
		name         string
		major, minor uint32
	}{
		{"null", 1, 3}, {"zero", 1, 5}, {"full", 1, 7}, {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0}, {"kmsg", 1, 11},
	} {
		at := root + "/dev/" + d.name
		if err := unix.Mknod(at, unix.S_IFCHR|0o666, int(unix.Mkdev(d.major, d.minor))); err != nil {
			return named("/dev/"+d.name, err)
		}
		if err := os.Chmod(at, 0o666); err != nil {
			return err
		}
	}
	for name, to := range map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2",
	} {
		if err := os.Symlink(to, root+"/dev/"+name); err != nil {
			return err
		}
	}
	return os.WriteFile(root+"/dev/console", nil, 0o600)
}

// become makes a directory the root, without access to the host's, and makes its console the standard input and
// output.
func become(root string) error {
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil { // the old root is now mounted on top of the new one
		return fmt.Errorf("make %s the root: %w", root, err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the host's root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	console, err := os.OpenFile("/dev/console", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	for fd := range 3 {
		if err := unix.Dup2(int(console.Fd()), fd); err != nil {
			return err
		}
	}
	return nil
}

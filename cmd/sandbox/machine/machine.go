//go:build linux

// Package machine boots real machines without a hypervisor: a Debian with systemd, cloud-init, containerd, kubeadm
// and kubelet in namespaces. They read the user data of a Linode and join a cluster as a Linode does. New prepares
// what all machines share, Machines.Add adds a machine, and Machine.PowerOn boots it.
//
// It needs root, but no KVM. A machine differs from a Linode: it has no SMBIOS, so cloud-init gets its platform as
// a setting; the kernel, its cgroups and its clock are the host's; swap is only what /proc/swaps says; and its
// network has only the API server, at its usual port of the loopback address, and the Metadata service at
// 169.254.169.254.
//
// Machines do not change the host by accident, because sysfs and the kernel settings are read-only, but their
// programs run as root and could change it. New raises one limit of the host, fs.inotify.max_user_instances, which
// all machines of a host share, and leaves it raised.
package machine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Config configures machines.
type Config struct {
	Cache string // directory of the Debian, which is created once
	Dir   string // where machines keep what they write
	// Programs are the paths of kubeadm, kubelet and inside (the program of package inside).
	Programs map[string]string
	// APIServer is the address at which machines reach the API server: a loopback address, which leads to the same
	// address of the host.
	APIServer string
	Say       func(format string, args ...any)
}

// Machines creates machines.
type Machines struct {
	Config
	image string // lower directories of an overlay
}

// Spec describes a machine for the program inside.
type Spec struct {
	Image   string // directory of the root file system, which is not changed
	Dir     string // for what the machine writes: upper, work, root, containerd and kubelet
	Console string // a terminal
	Cgroups []Cgroup

	// Simulated faults of the machine.
	SwapMiB      int            // size of the swap that the kernel reports; none is used
	NoForwarding bool           // the kernel's network settings are read-only
	Small        map[string]int // size of file systems in KiB, by their paths
}

// Cgroup is a hierarchy of cgroups, with the machine's directory in it.
type Cgroup struct {
	Name        string // of the directory in which it is mounted
	Controllers string // options of the mount, such as cpu,cpuacct or name=systemd; "" in cgroup v2
	Dir         string // the machine's directory on the host
}

// Possible returns an error if this process cannot run machines, with the reason.
func Possible() error {
	if os.Geteuid() != 0 {
		return errors.New("machines in namespaces need root: run this as root")
	}
	for _, program := range []string{"ip", "nsenter", "dpkg", "apt-get"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("machines in namespaces need the program %s: use a Debian or Ubuntu with iproute2 and util-linux", program)
		}
	}
	out, err := exec.Command("unshare", "--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup", "--fork", "true").CombinedOutput()
	if err != nil {
		return fmt.Errorf("machines need namespaces, which this host does not allow: unshare: %w: %s", err, out)
	}
	_, err = hierarchies()
	return err
}

// New prepares what all machines share.
func New(ctx context.Context, cfg Config) (*Machines, error) {
	if dirs := cfg.Cache + cfg.Dir; strings.ContainsAny(dirs, `,:\`) {
		return nil, fmt.Errorf("%s and %s: no directory of machines may have a comma, a colon or a backslash in its name, "+
			"as options of a mount cannot; choose others with TMPDIR and XDG_CACHE_HOME", cfg.Cache, cfg.Dir)
	}
	if err := removeLeftCgroups(); err != nil {
		return nil, err
	}
	if err := allowInotify(cfg.Say); err != nil {
		return nil, err
	}
	base, err := debian(ctx, cfg.Cache, cfg.Say)
	if err != nil {
		return nil, err
	}
	top := filepath.Join(cfg.Dir, "image")
	if err := addFiles(base, top, cfg.Programs); err != nil {
		return nil, fmt.Errorf("make the machines' image: %w", err)
	}
	return &Machines{cfg, top + ":" + base}, nil
}

// allowInotify raises the host's limit of inotify instances: a machine has about fifteen, and all machines run as
// one user.
func allowInotify(say func(string, ...any)) error {
	const path, enough = "/proc/sys/fs/inotify/max_user_instances", 1024
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	now, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil || now >= enough {
		return err
	}
	say("raising fs.inotify.max_user_instances of this host from %d to %d", now, enough)
	return os.WriteFile(path, []byte(strconv.Itoa(enough)), 0)
}

// Linode is what the Metadata service reports about a machine.
type Linode struct {
	ID                            int
	Label, Region, Type, HostUUID string
	UserData                      []byte
}

// Machine is one machine with its disks.
type Machine struct {
	of     *Machines
	Linode Linode
	// Has is the description of the machine. A change has an effect at the next boot.
	Has Spec
	// APIServer replaces the API server for this machine, at Machines.APIServer; nil means the real one.
	APIServer func(net.Listener) error

	console buffer

	mu     sync.Mutex
	pid    int           // 0 if it is off
	ended  chan struct{} // closed when the machine is off
	cut    bool          // PowerOff was called since the last PowerOn
	ending []func()      // functions that release the resources of this boot
}

// Add adds a machine, which is off.
func (m *Machines) Add(l Linode) (*Machine, error) {
	dir := filepath.Join(m.Dir, l.Label)
	for _, part := range []string{"upper", "work", "root", "containerd", "kubelet"} {
		if err := os.MkdirAll(filepath.Join(dir, part), 0o755); err != nil {
			return nil, err
		}
	}
	err := write(filepath.Join(dir, "upper/etc/linode-id"), fmt.Appendln(nil, l.ID), 0o644)
	return &Machine{of: m, Linode: l, Has: Spec{Image: m.image, Dir: dir}}, err
}

// Identify sets the machine id, which its kubelet reports. Without it, systemd creates one.
func (m *Machine) Identify(id string) error {
	return write(filepath.Join(m.Has.Dir, "upper/etc/machine-id"), []byte(id+"\n"), 0o444)
}

// PowerOn boots the machine. It returns when its systemd is about to start.
func (m *Machine) PowerOn() (err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pid != 0 {
		return fmt.Errorf("machine %s is on", m.Linode.Label)
	}
	m.ending, m.ended, m.cut = nil, make(chan struct{}), false
	started := false
	defer func() {
		if err != nil && !started {
			m.end()
		}
	}()
	if m.Has.Cgroups, err = makeCgroups(m.Linode.Label); err != nil {
		return err
	}
	cgroups := m.Has.Cgroups
	m.ending = append(m.ending, func() { removeCgroups(cgroups) })
	terminal, far, err := openTerminal()
	if err != nil {
		return fmt.Errorf("open a terminal for the console: %w", err)
	}
	m.ending = append(m.ending, func() { far.Close(); terminal.Close() })
	go io.Copy(&m.console, terminal)
	m.Has.Console = far.Name()
	about, err := json.Marshal(m.Has)
	if err != nil {
		return err
	}
	cmd := exec.Command(m.of.Programs["inside"], "boot")
	cmd.Env = []string{"MACHINE=" + string(about)}
	cmd.Stdout, cmd.Stderr = &m.console, &m.console
	cmd.WaitDelay = 1 // systemd uses the console instead
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWNET,
		Setsid:     true, Pdeathsig: syscall.SIGKILL,
	}
	ready, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	begun := make(chan error)
	ended := m.ended
	go func() {
		runtime.LockOSThread() // the machine ends with the thread that has started it
		err := cmd.Start()
		begun <- err
		if err != nil {
			return
		}
		_ = cmd.Wait()
		m.mu.Lock()
		defer m.mu.Unlock()
		m.pid = 0
		m.end()
		close(ended)
	}()
	if err := <-begun; err != nil {
		return fmt.Errorf("start machine %s: %w", m.Linode.Label, err)
	}
	started, m.pid = true, cmd.Process.Pid
	if err := m.network(); err != nil {
		_ = cmd.Process.Kill()
		return fmt.Errorf("make the network of machine %s: %w", m.Linode.Label, err)
	}
	return ready.Close()
}

// end releases the resources of a boot.
func (m *Machine) end() {
	for _, f := range m.ending {
		f()
	}
	m.ending = nil
}

// PowerOff stops the machine as if its power was cut: no program in it can react.
func (m *Machine) PowerOff() {
	m.mu.Lock()
	pid, ended := m.pid, m.ended
	m.cut = true
	m.mu.Unlock()
	if pid != 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		<-ended
	}
}

// On reports whether the machine is on.
func (m *Machine) On() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pid != 0
}

// Crashed reports whether the machine has ended although PowerOff was not called.
func (m *Machine) Crashed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pid == 0 && !m.cut
}

// Console returns what the machine has written on its console so far.
func (m *Machine) Console() string { return m.console.String() }

// Run runs a command in the machine, and returns what it wrote.
func (m *Machine) Run(ctx context.Context, args ...string) (string, error) {
	m.mu.Lock()
	pid := m.pid
	m.mu.Unlock()
	if pid == 0 {
		return "", fmt.Errorf("machine %s is off", m.Linode.Label)
	}
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{
		"-t", fmt.Sprint(pid), "-m", "-p", "-u", "-n", "-i", "-C", "--root", "env", "-i", "--chdir=/",
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "TERM=dumb",
	}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("run %s on %s: %w\n%s", strings.Join(args, " "), m.Linode.Label, err, out)
	}
	return string(out), err
}

// network creates the network of the machine: an interface without a peer, the Metadata service, and the API
// server.
func (m *Machine) network() error {
	const commands = "ip link set lo up && ip addr add 169.254.169.254/32 dev lo && " +
		"ip link add eth0 address f2:3c:95:00:00:02 type veth peer name wire && ip link set wire up && " +
		"ip addr add 10.77.0.2/24 dev eth0 && ip link set eth0 up && ip route add default via 10.77.0.1"
	out, err := exec.Command("nsenter", "-t", fmt.Sprint(m.pid), "-n", "sh", "-c", commands).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	answer := func(l net.Listener) error { return forward(l, m.of.APIServer) }
	if m.APIServer != nil {
		answer = m.APIServer
	}
	for address, serve := range map[string]func(net.Listener) error{
		"169.254.169.254:80": func(l net.Listener) error { return http.Serve(l, metadata(m.Linode)) },
		m.of.APIServer:       answer,
	} {
		var l net.Listener
		if err := inNetwork(m.pid, func() (err error) { l, err = net.Listen("tcp", address); return err }); err != nil {
			return err
		}
		m.ending = append(m.ending, func() { l.Close() }) // the listener keeps the namespace
		go serve(l)
	}
	return nil
}

// inNetwork calls do in the network namespace of a process. Sockets that it opens stay there.
func inNetwork(pid int, do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		done <- func() error {
			ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
			if err != nil {
				return err
			}
			defer ns.Close()
			if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
				return fmt.Errorf("enter the network of process %d: %w", pid, err)
			}
			return do()
		}()
	}()
	return <-done
}

// forward forwards connections to a machine's listener to an address of the host.
func forward(l net.Listener, to string) error {
	for {
		from, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer from.Close()
			there, err := net.Dial("tcp", to)
			if err != nil {
				return
			}
			defer there.Close()
			var ways sync.WaitGroup
			for _, way := range [][2]net.Conn{{there, from}, {from, there}} {
				ways.Go(func() {
					_, _ = io.Copy(way[0], way[1])
					_ = way[0].(*net.TCPConn).CloseWrite()
				})
			}
			ways.Wait()
		}()
	}
}

// openTerminal returns both ends of a terminal. As long as far is open, near can read what is written there.
// Someone must read it, because systemd blocks if nothing reads its console.
func openTerminal() (near, far *os.File, err error) {
	if near, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	number, err := unix.IoctlGetInt(int(near.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(near.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		far, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(err, near.Close())
	}
	return near, far, nil
}

// buffer is a buffer that several goroutines can write and read.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

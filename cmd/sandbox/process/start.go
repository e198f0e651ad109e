package process

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

// Command is a program to start.
type Command struct {
	Path string
	Args []string
	// Env is the whole environment; no variable is inherited.
	Env []string
	Dir string
	// Log is the file to which the output is appended.
	Log string
}

// Process is a child that runs, or ran.
type Process struct {
	Identity
	exited chan struct{}
	err    error
}

// Exited is closed when the process has ended; Err is valid from then on.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err returns how the process ended; nil means with status zero.
func (p *Process) Err() error { return p.err }

// Start starts a process that outlives this one. It has its own session, so that keys pressed on our terminal do
// not reach it.
func Start(c Command) (*Process, error) {
	return start(c, &syscall.SysProcAttr{Setsid: true})
}

// Guard starts processes that do not outlive this one: on Linux, the kernel kills them when this process dies for
// any reason. Use NewGuard; a Guard is never stopped.
type Guard struct {
	starts chan func()
}

// NewGuard returns a guard with its thread.
//
// The kernel ties a child to the thread that started it, not to the process. The guard therefore keeps one thread
// forever and starts every child there; otherwise children would die whenever the runtime ends a thread.
func NewGuard() *Guard {
	g := &Guard{starts: make(chan func())}
	go func() {
		runtime.LockOSThread()
		for start := range g.starts {
			start()
		}
	}()
	return g
}

// Start starts a process that dies with this one. It has its own process group, so that it keeps running while its
// user handles a ctrl-C.
func (g *Guard) Start(c Command) (*Process, error) {
	var p *Process
	var err error
	g.do(func() {
		attr := &syscall.SysProcAttr{Setpgid: true}
		dieWithParent(attr)
		p, err = start(c, attr)
	})
	return p, err
}

// Run starts cmd, which the caller has filled in, so that it dies with this process. The caller waits for it as
// usual.
func (g *Guard) Run(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	dieWithParent(cmd.SysProcAttr)
	var err error
	g.do(func() { err = cmd.Start() })
	return err
}

func (g *Guard) do(start func()) {
	done := make(chan struct{})
	g.starts <- func() {
		defer close(done)
		start()
	}
	<-done
}

func start(c Command, attr *syscall.SysProcAttr) (*Process, error) {
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env, cmd.Dir = c.Env, c.Dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{exited: make(chan struct{})}
	// A child has a start time until it is waited for, even if it is dead already. The caller learns of its death
	// from Exited.
	p.Identity, err = Identify(cmd.Process.Pid)
	if err != nil {
		p.Identity = Identity{PID: cmd.Process.Pid}
	}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// Tail returns the last n lines of a log, or nothing if it cannot be read.
func Tail(path string, n int) string {
	text, _ := os.ReadFile(path)
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

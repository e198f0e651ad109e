package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/lkeplan/lkeplan/cmd/sandbox/binaries"
	"github.com/lkeplan/lkeplan/cmd/sandbox/process"
)

// readyWithin is the time limit of a start. It takes seconds on an idle machine.
const readyWithin = 2 * time.Minute

// Config selects what to start.
type Config struct {
	// Dir is the sandbox's directory; "" means a new one.
	Dir      string
	Programs binaries.Set
	// Self is the sandbox's own program, which contains the simulator.
	Self    string
	Cluster Cluster
	// Simulator is written as JSON for the simulate command.
	Simulator any
	// DaemonSets creates the DaemonSets that LKE runs on each node.
	DaemonSets bool
	// Flux also starts source-controller; its program must be built.
	Flux bool
	// Audit makes the API server log each request.
	Audit bool
	// Guard, if not nil, ends the components with this process.
	Guard *process.Guard
	// Say reports progress, a line at a time.
	Say func(format string, args ...any)
}

// Stack is a sandbox, running or not.
type Stack struct {
	*State
	// Found means that Up started nothing because the sandbox was already running.
	Found bool
	// processes are the components that are children of this process.
	processes map[string]*process.Process
}

// Up starts a sandbox and returns when everything in it answers. If it cannot, or the
// context ends before, everything it started is ended again. What it has written stays, for
// its logs, unless the context ended.
func Up(ctx context.Context, c Config) (*Stack, error) {
	dir, err := makeDirectory(c.Dir)
	if err != nil {
		return nil, err
	}
	waiting := func() { c.Say("another sandbox command works in %s; waiting for it", dir) }
	unlock, err := process.Lock(ctx, layout(dir).lock(), waiting)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if running, err := inDirectory(dir); running != nil || err != nil {
		return &Stack{State: running, Found: true}, err
	}
	s := &Stack{
		State: &State{
			Dir: dir, Cluster: c.Cluster, BinDirs: c.Programs.Dirs(), Kubectl: c.Programs.Programs[binaries.Kubectl],
		},
		processes: map[string]*process.Process{},
	}
	limited, cancel := context.WithTimeoutCause(ctx, readyWithin, fmt.Errorf("not ready within %s", readyWithin))
	defer cancel()
	reason := newLaunch(c, s).run(limited)
	if reason == nil {
		return s, nil
	}
	err = s.end(context.WithoutCancel(ctx))
	if cancelled := ctx.Err() != nil; cancelled && err == nil {
		err = layout(dir).remove()
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w\nand then: %w", reason, err)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%w: nothing is left running", reason)
	}
	return nil, fmt.Errorf("%w\nnothing is left running; the logs are in %s", reason, layout(dir).logs())
}

// makeDirectory creates the directory of a sandbox, a temporary one for "", and returns its absolute path.
func makeDirectory(dir string) (string, error) {
	if dir == "" {
		return os.MkdirTemp("", "lkeplan-sandbox-")
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return path, os.MkdirAll(path, 0o700)
}

// inDirectory returns the sandbox that runs in the directory, or none if the directory is empty. It refuses a sandbox
// that does not run and a directory that is not a sandbox's.
func inDirectory(dir string) (*State, error) {
	s, err := Load(dir)
	if errors.Is(err, ErrNoSandbox) {
		entries, err := os.ReadDir(dir)
		if err == nil && len(entries) > 1 { // more than the lock
			os.Remove(layout(dir).lock())
			err = fmt.Errorf("%s is not empty and holds no sandbox: name a directory of the sandbox's own", dir)
		}
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	problem := ""
	if s.ReadySeconds == 0 {
		problem = "its start was cut off"
	}
	for _, c := range s.Components {
		if !c.Alive() {
			problem = c.Name + " ended"
		}
	}
	if problem != "" {
		return nil, fmt.Errorf("the sandbox in %s is broken, %s: end it with `sandbox down --dir %s`", dir, problem, dir)
	}
	return s, nil
}

// furnish writes everything that can be written before anything runs.
func (c Config) furnish(l layout, all users) error {
	if err := l.furnish(); err != nil {
		return err
	}
	if err := writePKI(l); err != nil {
		return err
	}
	simulator, err := json.MarshalIndent(c.Simulator, "", "  ")
	if err != nil {
		return err
	}
	for path, text := range map[string][]byte{
		l.tokens(): []byte(all.tokenFile()), l.podReadyAgain(): podReadyAgain, l.auditPolicy(): []byte(auditPolicy),
		l.simulator(): append(simulator, '\n'),
	} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

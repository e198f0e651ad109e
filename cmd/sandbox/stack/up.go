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

// readyWithin is how long all of a start may take. It takes seconds on an idle machine.
const readyWithin = 2 * time.Minute

// Config says what to start.
type Config struct {
	// Dir is the sandbox's directory; empty means a fresh one.
	Dir      string
	Programs binaries.Set
	// Self is the sandbox's own binary, which has the simulator.
	Self    string
	Cluster Cluster
	// Simulator is written as JSON for the simulate command.
	Simulator any
	// DaemonSets has each node run what LKE runs on it.
	DaemonSets bool
	// Flux starts source-controller too; its program must be built.
	Flux bool
	// Audit has the API server write down each request.
	Audit bool
	// Guard, if not nil, makes the components die with this process.
	Guard *process.Guard
	// Say reports progress, a line at a time.
	Say func(format string, args ...any)
}

// Stack is a sandbox, running or not.
type Stack struct {
	*State
	// Found says that Up started nothing because the sandbox was running already.
	Found bool
	// processes are the components that are children of this process.
	processes map[string]*process.Process
}

// Up starts a sandbox and returns when everything in it answers. If it cannot, or the
// context ends before, everything it started is ended again, and only the logs are
// left.
func Up(ctx context.Context, c Config) (*Stack, error) {
	dir, made, err := makeDirectory(c.Dir)
	if err != nil {
		return nil, err
	}
	waiting := func() { c.Say("another sandbox command works in %s; waiting for it", dir) }
	unlock, err := process.Lock(ctx, layout(dir).lock(), waiting)
	if err != nil {
		return nil, err
	}
	defer unlock()
	old, err := takeOver(dir)
	if err != nil {
		return nil, err
	}
	if old != nil && old.Running() {
		return &Stack{State: old, Found: true}, nil
	}
	if old != nil {
		made = old.MadeDir
	}
	return c.up(ctx, dir, made)
}

func (c Config) up(ctx context.Context, dir string, made bool) (*Stack, error) {
	s := &Stack{
		State:     &State{Dir: dir, MadeDir: made, Cluster: c.Cluster, BinDirs: c.Programs.Dirs()},
		processes: map[string]*process.Process{},
	}
	limited, cancel := context.WithTimeoutCause(ctx, readyWithin, fmt.Errorf("not ready within %s", readyWithin))
	defer cancel()
	if err := newLaunch(c, s).run(limited); err != nil {
		return nil, s.abandon(ctx, err)
	}
	return s, nil
}

// abandon ends a sandbox that could not be started. What is left are the logs, if
// it failed, and nothing, if the user cancelled it.
func (s *Stack) abandon(ctx context.Context, reason error) error {
	cancelled := ctx.Err() != nil
	// The clearing up must not be cancelled as well.
	err := s.end(context.WithoutCancel(ctx))
	if err == nil && cancelled {
		err = layout(s.Dir).remove(s.MadeDir)
	} else if err == nil {
		err = layout(s.Dir).clear()
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w\nand then: %w", reason, err)
	case cancelled:
		return fmt.Errorf("%w: nothing is left running", reason)
	}
	return fmt.Errorf("%w\nnothing is left running; the logs are in %s", reason, layout(s.Dir).logs())
}

// makeDirectory returns the absolute path of the directory; made says that it is
// new.
func makeDirectory(dir string) (path string, made bool, err error) {
	if dir == "" {
		path, err := os.MkdirTemp("", "lkeplan-sandbox-")
		return path, true, err
	}
	path, err = filepath.Abs(dir)
	if err != nil {
		return "", false, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", false, err
	}
	err = os.Mkdir(path, 0o700)
	if errors.Is(err, os.ErrExist) {
		return path, false, nil
	}
	return path, err == nil, err
}

// takeOver returns a running sandbox in the directory, clears away the leftovers of one
// that does not run, and refuses a directory that is not a sandbox's.
func takeOver(dir string) (*State, error) {
	old, err := Load(dir)
	if errors.Is(err, ErrNoSandbox) {
		return nil, refuseForeign(dir)
	}
	if err != nil {
		return nil, err
	}
	if !old.Running() {
		return old, layout(dir).clear()
	}
	if !old.Ready() {
		return nil, fmt.Errorf("the start of the sandbox in %s was cut off: end it with `sandbox down --dir %s`", dir, dir)
	}
	if dead := old.Dead(); len(dead) > 0 {
		return nil, fmt.Errorf("the sandbox in %s is broken, %s ended: end it with `sandbox down --dir %s`", dir, dead[0],
			dir)
	}
	return old, nil
}

func refuseForeign(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != lockName {
			os.Remove(layout(dir).lock())
			return fmt.Errorf("%s is not empty and holds no sandbox: name a directory of the sandbox's own", dir)
		}
	}
	return nil
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

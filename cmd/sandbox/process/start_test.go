package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	text := strings.Repeat("x", 1<<17) + "\none\ntwo\nthree\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Tail(path, 2); got != "two\nthree" {
		t.Errorf("Tail = %q", got)
	}
	if got := Tail(path+".none", 2); got != "" {
		t.Errorf("Tail of no file = %q", got)
	}
}

func TestStartInheritsNothing(t *testing.T) {
	t.Setenv("SANDBOX_SECRET", "leaks")
	log := filepath.Join(t.TempDir(), "log")
	p, err := Start(Command{Path: "/usr/bin/env", Env: []string{"A=b"}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	if got := Tail(log, 10); got != "A=b" {
		t.Errorf("environment %q, want only A=b", got)
	}
}

func TestStartMissingProgram(t *testing.T) {
	_, err := Start(Command{Path: "/no/such/program", Log: filepath.Join(t.TempDir(), "log")})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want an error that the file is missing", err)
	}
}

func TestGuard(t *testing.T) {
	guard := NewGuard()
	log := filepath.Join(t.TempDir(), "log")
	p, err := guard.Start(Command{Path: "/bin/sleep", Args: []string{"60"}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	if !p.Alive() {
		t.Error("it is not alive")
	}
	if err := p.End(t.Context(), 10*time.Second); err != nil {
		t.Error(err)
	}
	cmd := exec.Command("true")
	if err := guard.Run(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(t.Context(), path, func() { t.Error("waits for a free lock") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	if _, err := Lock(ctx, path, func() { cancel(reason) }); !errors.Is(err, reason) {
		t.Errorf("a lock that is held: %v, want to wait until cancelled", err)
	}
	waits := make(chan struct{})
	go func() {
		<-waits
		unlock()
	}()
	second, err := Lock(t.Context(), path, func() { close(waits) })
	if err != nil {
		t.Fatal(err)
	}
	second()
}

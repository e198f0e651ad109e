package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestIdentify(t *testing.T) {
	id, err := Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if id.PID != os.Getpid() || id.Start == "" || !id.Alive() {
		t.Errorf("identity of this process: %+v, alive %v", id, id.Alive())
	}
	again, err := Identify(os.Getpid())
	if err != nil || again != id {
		t.Errorf("the identity changes: %+v, then %+v, %v", id, again, err)
	}
	for _, pid := range []int{0, -1, 1 << 30} {
		if _, err := Identify(pid); !errors.Is(err, ErrGone) {
			t.Errorf("Identify(%d): %v, want ErrGone", pid, err)
		}
	}
}

// A pid that was handed out again must not be signalled: here it is our own.
func TestSignalRecycledPID(t *testing.T) {
	recycled := Identity{PID: os.Getpid(), Start: "1"}
	if recycled.Alive() {
		t.Error("a process with another start time counts as alive")
	}
	if err := recycled.Signal(syscall.SIGKILL); !errors.Is(err, ErrGone) {
		t.Errorf("Signal: %v, want ErrGone", err)
	}
	if err := recycled.End(t.Context(), time.Second); err != nil {
		t.Errorf("End: %v", err)
	}
}

// A process that ended but was not waited for is a zombie, and gone.
func TestIdentifyZombie(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		_, err := Identify(cmd.Process.Pid)
		if errors.Is(err, ErrGone) {
			return
		}
		if err != nil || ctx.Err() != nil {
			t.Fatalf("a zombie is still there: %v", err)
		}
	}
}

func TestEnd(t *testing.T) {
	for _, test := range []struct {
		name, script string
		grace        time.Duration
		ended        string
	}{
		{"obeys", `echo up; exec sleep 60`, 10 * time.Second, "signal: terminated"},
		{"refuses", `trap "" TERM; echo up; while :; do sleep 60; done`, 100 * time.Millisecond, "signal: killed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := startScript(t, test.script)
			if err := p.End(t.Context(), test.grace); err != nil {
				t.Errorf("End: %v", err)
			}
			if p.Alive() {
				t.Error("it is still alive")
			}
			<-p.Exited()
			if p.Err() == nil || p.Err().Error() != test.ended {
				t.Errorf("it ended with %v, want %s", p.Err(), test.ended)
			}
		})
	}
}

// startScript starts a shell and waits until it has printed "up".
func startScript(t *testing.T, script string) *Process {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	p, err := Start(Command{Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Signal(syscall.SIGKILL) })
	deadline := time.Now().Add(10 * time.Second)
	for Tail(log, 1) != "up" {
		if time.Now().After(deadline) {
			t.Fatalf("the script does not start: %s", Tail(log, 5))
		}
		time.Sleep(time.Millisecond)
	}
	return p
}

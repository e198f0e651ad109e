package isolate_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/semaphore"

	"github.com/lkeplan/lkeplan/engine/isolate"
)

// TestMain lets the test's program be a child that tries what it must not.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case "intruder":
			os.Exit(isolate.Answer(os.Stdin, os.Stdout, os.Stderr, intrude))
		case "hog":
			os.Exit(isolate.Answer(os.Stdin, os.Stdout, os.Stderr, hog))
		}
	}
	os.Exit(m.Run())
}

// target is what an intruder tries to reach.
type target struct {
	Token, Given string // files
	Address      string
	Parent       int // a process
}

// intrude tries everything, and returns what it could do.
func intrude(at target) (did map[string]bool, err error) {
	did = map[string]bool{}
	try := func(what string, do func() error) { did[what] = do() == nil }
	try("read the token", func() error { _, err := os.ReadFile(at.Token); return err })
	try("read the environment of its parent", func() error {
		_, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", at.Parent))
		return err
	})
	try("list the root", func() error { _, err := os.ReadDir("/"); return err })
	try("write next to the token", func() error { return os.WriteFile(at.Token+".new", nil, 0o600) })
	try("read what it is given", func() error { _, err := os.ReadFile(at.Given); return err })
	try("write what it is given", func() error { return os.WriteFile(at.Given, nil, 0o600) })
	try("write next to what it is given", func() error { return os.WriteFile(at.Given+".new", nil, 0o600) })
	try("connect to a port", func() error {
		conn, err := net.DialTimeout("tcp", at.Address, 5*time.Second)
		if err == nil {
			conn.Close()
		}
		return err
	})
	try("listen", func() error {
		config := net.ListenConfig{}
		config.SetMultipathTCP(false)
		l, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err == nil {
			l.Close()
		}
		return err
	})
	try("start a program", func() error { return exec.Command(os.Args[0], "-test.run=^$").Run() })
	try("signal its parent", func() error { return syscall.Kill(at.Parent, 0) })
	return did, nil
}

// hog takes memory without end.
func hog(struct{}) (struct{}, error) {
	var held [][]byte
	for range 1024 {
		block := make([]byte, 16<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		held = append(held, block)
	}
	return struct{}{}, fmt.Errorf("%d blocks were given", len(held))
}

func child(command string) isolate.Child {
	return isolate.Child{Program: []string{os.Args[0], command}, Time: time.Minute, Memory: 512 << 20}
}

// listen serves nothing at a new address.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestChildIsConfined: it reads what it is given, and does nothing else.
func TestChildIsConfined(t *testing.T) {
	if isolate.Landlock() < 6 {
		t.Fatalf("the kernel has version %d of Landlock; the test needs 6", isolate.Landlock())
	}
	secrets, given := t.TempDir(), t.TempDir()
	at := target{
		Token: filepath.Join(secrets, "token"), Given: filepath.Join(given, "main.lke.hcl"),
		Address: listen(t).Addr().String(), Parent: os.Getpid(),
	}
	for _, name := range []string{at.Token, at.Given} {
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	confined := child("intruder")
	confined.Read = given
	var did map[string]bool
	if err := confined.Ask(t.Context(), at, &did); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{
		"read the token": false, "read the environment of its parent": false, "list the root": false,
		"write next to the token": false, "write what it is given": false, "write next to what it is given": false,
		"connect to a port": false, "listen": false, "start a program": false, "signal its parent": false,
		"read what it is given": true,
	}
	if diff := cmp.Diff(want, did); diff != "" {
		t.Errorf("what the child could do (-want +got):\n%s", diff)
	}
	if _, err := os.ReadFile(at.Token); err != nil {
		t.Errorf("the restrictions are on the parent: %v", err)
	}
}

func TestChildExceedingLimitsIsKilled(t *testing.T) {
	if err := child("hog").Ask(t.Context(), struct{}{}, new(struct{})); !errors.Is(err, isolate.ErrMemory) {
		t.Errorf("%v, want %v", err, isolate.ErrMemory)
	}
	slow := isolate.Child{Program: []string{"sleep", "60"}, Time: 100 * time.Millisecond, Memory: 64 << 20}
	if err := slow.Ask(t.Context(), struct{}{}, new(struct{})); !errors.Is(err, isolate.ErrTimeout) {
		t.Errorf("%v, want %v", err, isolate.ErrTimeout)
	}
}

// TestChildrenShareMemoryBudget: one waits until there is room for it.
func TestChildrenShareMemoryBudget(t *testing.T) {
	budget := semaphore.NewWeighted(100)
	if err := budget.Acquire(t.Context(), 60); err != nil {
		t.Fatal(err)
	}
	waits := isolate.Child{Program: []string{"true"}, Time: time.Minute, Memory: 50, Budget: budget}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := waits.Ask(ctx, struct{}{}, new(struct{})); !errors.Is(err, context.Canceled) {
		t.Errorf("without room it ends with %v, want %v", err, context.Canceled)
	}
	budget.Release(60)
	if err := waits.Ask(t.Context(), struct{}{}, new(struct{})); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("with room: %v, want that the answer is none", err)
	}
	if !budget.TryAcquire(100) {
		t.Error("memory was not given back")
	}
}

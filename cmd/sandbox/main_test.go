package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/cmd/sandbox/binaries"
	"github.com/lkeplan/lkeplan/cmd/sandbox/stack"
)

// asMain makes this test binary behave like the sandbox itself.
const asMain = "SANDBOX_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	// A sandbox, and what runs in it, start this binary as the program. If they ran tests, these would start it again.
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") || os.Getenv(asMain) != "" {
		main()
	}
	os.Exit(m.Run())
}

// sandbox runs the command in this process.
func sandbox(t *testing.T, environ []string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), args, environ, strings.NewReader(""), &out, &errs)
	return status, out.String(), errs.String()
}

// sandboxCommand runs the command in a separate process.
func sandboxCommand(t *testing.T, environ []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(environ, asMain+"=1")
	return cmd
}

// controlPlane builds the control plane, if it is not built, and returns the environment.
func controlPlane(t *testing.T) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a control plane")
	}
	a := &app{environ: os.Environ(), log: log.Default()}
	if _, err := a.programs(t.Context()); err != nil {
		t.Fatal(err)
	}
	return os.Environ()
}

// up starts a sandbox that is taken down with the test.
func up(t *testing.T, environ []string, args ...string) upReport {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sandbox")
	args = append([]string{"up", "--output", "json", "--dir", dir}, args...)
	status, stdout, stderr := sandbox(t, environ, args...)
	if status != 0 {
		t.Fatalf("sandbox up: status %d\n%s", status, stderr)
	}
	t.Cleanup(func() {
		if _, err := os.Stat(dir); err != nil {
			return
		}
		var errs bytes.Buffer
		if run(context.Background(), []string{"down", "--dir", dir}, environ, strings.NewReader(""), &errs, &errs) != 0 {
			t.Errorf("sandbox down: %s", errs.String())
		}
	})
	var report upReport
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatalf("sandbox up printed %s: %v", stdout, err)
	}
	if report.Dir != dir {
		t.Fatalf("the sandbox is in %s, want %s", report.Dir, dir)
	}
	t.Logf("ready in %.1fs", report.ReadySeconds)
	return report
}

// eventually polls until check returns nil.
func eventually(t *testing.T, within time.Duration, check func() error) {
	t.Helper()
	began := time.Now()
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Since(began) > within {
			t.Fatalf("after %s: %v", within, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// leftovers returns an error while a process is running that has the directory in
// its command line.
func leftovers(dir string) error {
	out, err := exec.Command("ps", "-A", "-ww", "-o", "pid=,stat=,args=").Output()
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if strings.Contains(line, dir) && !strings.HasPrefix(fields[1], "Z") && fields[0] != fmt.Sprint(os.Getpid()) {
			return fmt.Errorf("still running: %s", strings.TrimSpace(line))
		}
	}
	return nil
}

// TestHelpFitsATerminal: in 80 columns, for each command.
func TestHelpFitsATerminal(t *testing.T) {
	for _, cmd := range append((&app{}).root().Commands(), (&app{}).root()) {
		args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		_, help, _ := sandbox(t, nil, args...)
		for line := range strings.Lines(help) {
			if len(line) > 81 {
				t.Errorf("sandbox %s: %s", strings.Join(args, " "), line)
			}
		}
	}
}

func TestBadInput(t *testing.T) {
	environ := []string{"LKEPLAN_SANDBOX_CACHE=" + t.TempDir(), "PATH=/usr/bin:/bin"}
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ args, want string }{
		{"up --tier gold", `tier "gold": want standard or enterprise`},
		{"up --region mars", `region "mars"`},
		{"up --mode vm", `--mode "vm": want lke or instance`},
		{"up --rate-limit 5", `rate limit "5"`},
		{"up --join-delay -1s", "delay"},
		{"up --join-delay 1", "missing unit"},
		{"up --catalog /no/such/file", "/no/such/file"},
		{"up --output xml", `--output "xml": want env or json`},
		{"up there", `unknown command "there" for "sandbox up"`},
		{"down --dir " + foreign, "no sandbox here"},
		{"down", "which sandbox? set --dir"},
		{"run", "no command: want"},
		{"fly", `unknown command "fly"`},
	} {
		status, stdout, stderr := sandbox(t, environ, strings.Fields(test.args)...)
		if status != 1 || !strings.Contains(stderr, test.want) {
			t.Errorf("sandbox %s: status %d, it said %q, want %q", test.args, status, stderr, test.want)
		}
		if lines := strings.Count(stderr, "\n"); lines != 1 || stdout != "" {
			t.Errorf("sandbox %s: %d lines, want one, and nothing on standard output: %q", test.args, lines, stdout)
		}
	}
}

func TestStatusOf(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -TERM $$": 143} {
		status, err := statusOf(exec.Command("/bin/sh", "-c", script).Run())
		if err != nil || status != want {
			t.Errorf("%s: status %d, %v; want %d", script, status, err, want)
		}
	}
	if _, err := statusOf(exec.Command("/no/such/program").Run()); err == nil {
		t.Error("a program that could not be run has a status")
	}
}

// The components a sandbox starts must all come out of the table.
func TestEveryProgramIsBuilt(t *testing.T) {
	built := map[string]bool{}
	for _, m := range append(binaries.ControlPlane(), binaries.Flux()...) {
		for _, p := range m.Programs {
			built[p.Name] = true
		}
	}
	for _, name := range stack.Names() {
		if !built[name] && name != "linode-simulator" {
			t.Errorf("nothing builds %s", name)
		}
	}
}

// lockedBuffer is written by a process while the test reads it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func TestProbeThatMakesNoCallLeavesNoRecord(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record")
	environ := []string{"LINODE_URL=http://127.0.0.1:1", "LINODE_TOKEN=x"}
	status, _, stderr := sandbox(t, environ, "probe", "--yes", "--record", record)
	if _, err := os.Stat(record); status != 1 || !os.IsNotExist(err) {
		t.Errorf("status %d, %v\n%s", status, err, stderr)
	}
}

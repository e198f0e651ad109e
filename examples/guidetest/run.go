package guidetest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// answerTimeout is how long a command of a guide is repeated, until it prints what the guide shows.
const answerTimeout = 90 * time.Second

// Runner runs guides.
type Runner struct {
	// Env is the environment of the commands. Its PATH has the programs.
	Env []string

	// Sandbox has the steps run that need a cluster, too.
	Sandbox bool

	// Update rewrites what needs no cluster with what is printed.
	Update bool
}

// Run runs the README of a directory below examples in a clone of a repository that
// has this directory only.
func (r Runner) Run(t *testing.T, examples, name string) {
	t.Helper()
	readme := filepath.Join(examples, name, "README.md")
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := parse(string(text))
	if err != nil {
		t.Fatalf("%s: %v", readme, err)
	}
	if len(steps) == 0 {
		return
	}
	root := r.clone(t, filepath.Join(examples, name), filepath.Join("examples", name))
	printed := map[int]string{}
	for i, s := range steps {
		switch {
		case s.sandbox && !r.Sandbox:
		case s.edit != nil:
			if err := s.edit.apply(root); err != nil {
				t.Fatalf("%s:%d: %v", readme, s.line, err)
			}
		default:
			out, code := r.ask(t, root, s)
			if code != s.exit {
				t.Fatalf("%s:%d: %s: exit code %d, want %d\n%s", readme, s.line, s.command, code, s.exit, out)
			}
			if matches(s.output, out) {
				continue
			}
			printed[i] = out
			if !r.Update || s.sandbox {
				t.Errorf("%s:%d: %s prints\n%s\nnot\n%s", readme, s.line, s.command, out, s.output)
			}
		}
	}
	if r.Update && len(printed) > 0 {
		if err := os.WriteFile(readme, []byte(rewritten(string(text), steps, printed)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// apply carries out an edit below a directory.
func (e edit) apply(root string) error {
	name := filepath.Join(root, e.file)
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if n := strings.Count(string(text), e.before); n != 1 {
		return fmt.Errorf("%s has the lines %d times:\n%s", e.file, n, e.before)
	}
	return os.WriteFile(name, []byte(strings.Replace(string(text), e.before, e.after, 1)), 0o644)
}

// ask runs a command; what only asks a cluster, again until the answer is right.
func (r Runner) ask(t *testing.T, root string, s step) (out string, code int) {
	t.Helper()
	asks := s.sandbox && slices.ContainsFunc([]string{"kubectl get", "kubectl describe", "lkeplan status", "lkeplan why"},
		func(question string) bool { return strings.HasPrefix(s.command, question) })
	for deadline := time.Now().Add(answerTimeout); ; time.Sleep(300 * time.Millisecond) {
		out, code = r.command(t, root, "sh", "-c", s.command)
		if !asks || (code == s.exit && matches(s.output, out)) || time.Now().After(deadline) {
			return out, code
		}
	}
}

// clone creates a repository with one commit of a directory, without its Markdown files. It has a remote and a new
// branch, as after git clone and git switch --create.
func (r Runner) clone(t *testing.T, from, to string) string {
	t.Helper()
	root := t.TempDir()
	target := filepath.Join(root, to)
	err := errors.Join(os.CopyFS(target, os.DirFS(from)), filepath.WalkDir(target, func(name string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(name) == ".md" {
			err = os.Remove(name)
		}
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch", "main"}, {"config", "user.name", "Jane"},
		{"config", "user.email", "jane@example.com"}, {"add", "."}, {"commit", "--quiet", "--message", "Pools"},
		{"remote", "add", "origin", "https://git.example.com/fleet.git"},
		{"update-ref", "refs/remotes/origin/main", "HEAD"},
		{"symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"},
		{"switch", "--quiet", "--create", "change"},
	} {
		if out, code := r.command(t, root, "git", args...); code != 0 {
			t.Fatalf("git %v: %s", args, out)
		}
	}
	return root
}

// command runs a program in a directory, and returns what it prints and its exit code.
func (r Runner) command(t *testing.T, dir, program string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Env = dir, r.Env
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatalf("%s %v: %v", program, args, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

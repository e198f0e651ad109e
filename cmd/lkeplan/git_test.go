package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/engine/source/sourcetest"
	"github.com/lkeplan/lkeplan/testdata/nightly"
)

// printed is the output of a run of lkeplan.
type printed struct {
	code   int
	stderr string
	report struct {
		Base, Rules *struct{ Kind, Ref, Why string }
		Guards      []struct{ ID, Status string }
		Notes       []string
	}
}

// protects reports whether the guard of the protected pool has refused the change.
func (p printed) protects() bool {
	for _, g := range p.report.Guards {
		if g.ID == "protected" && g.Status == "blocked" {
			return p.code == 3
		}
	}
	return false
}

// every is as in engine/compile: a shell and a process for each situation take half a minute.
var every = flag.Int("every", nightly.Or(15, 1), "one of so many situations of Git is compared by the program in a shell; 1 is all")

// ofProcess are the situations that depend on the process: its working directory, or the
// environment that git or a typed command reads or changes.
var ofProcess = []string{"from_elsewhere", "hook", "other_owner"}

// ofTwoNames are the situations in which the change renames the directory in its repository:
// objects that were applied from the old directory are not pruned.
var ofTwoNames = []string{"renamed", "symlink_moved"}

// spares reports whether a note says that those objects stay.
func (p printed) spares() bool {
	return p.code == 0 && slices.ContainsFunc(p.report.Notes, func(note string) bool {
		return strings.HasPrefix(note, "The change renames this directory ")
	})
}

// A comparing runs a comparison in a situation, after a shell command that an error has
// suggested; "" for none.
type comparing func(t *testing.T, at sourcetest.Place, before string, args ...string) printed

// inShell runs the program in the working directory of the situation. The path is PATH;
// "" is the PATH of the situation.
func inShell(path string) comparing {
	return func(t *testing.T, at sourcetest.Place, before string, args ...string) printed {
		t.Helper()
		script := `exec lkeplan "$@"`
		if before != "" {
			script = "{ " + before + "; } >&2 && " + script
		}
		cmd := typed(at, script, append(args, "-o", "json", at.Dir)...)
		if path != "" {
			cmd.Env = append(cmd.Env, "PATH="+path)
		}
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		return read(t, ended(t, cmd), stdout.String(), stderr.String())
	}
}

// inProcess runs the command in this process, with PATH and HOME of the test.
func inProcess(t *testing.T, at sourcetest.Place, before string, args ...string) printed {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if before != "" {
		cmd := typed(at, before)
		cmd.Stdout, cmd.Stderr = &stderr, &stderr
		if code := ended(t, cmd); code != 0 {
			return printed{code: code, stderr: stderr.String()}
		}
	}
	getenv := func(name string) (value string) {
		for _, pair := range at.Env {
			if set, found := strings.CutPrefix(pair, name+"="); found {
				value = set
			}
		}
		return value
	}
	code := run(t.Context(), append(args, "-o", "json", filepath.Join(at.Work, at.Dir)), &env{
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Getenv: getenv, Environ: func() []string { return at.Env },
	})
	return read(t, code, stdout.String(), stderr.String())
}

func typed(at sourcetest.Place, script string, args ...string) *exec.Cmd {
	cmd := exec.Command("sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.Dir, cmd.Env = at.Work, slices.Clone(at.Env)
	return cmd
}

// ended runs a command and returns its exit code.
func ended(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

func read(t *testing.T, code int, stdout, stderr string) printed {
	t.Helper()
	p := printed{code: code, stderr: stderr}
	if stdout != "" {
		if err := json.Unmarshal([]byte(stdout), &p.report); err != nil {
			t.Fatalf("%v\n%s\n%s", err, stdout, stderr)
		}
	}
	return p
}

// snapshot writes a snapshot of a cluster with the configuration before the change,
// applied from the directory of a situation.
func snapshot(t *testing.T, at sourcetest.Place) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "cluster.json")
	dir, err := filepath.EvalSymlinks(filepath.Join(at.Work, at.Dir))
	if err != nil {
		t.Fatal(err)
	}
	origin := "."
	for top := dir; top != filepath.Dir(top); top = filepath.Dir(top) {
		if _, err := os.Lstat(filepath.Join(top, ".git")); err == nil {
			origin, _ = filepath.Rel(top, dir)
			origin += repositoryOf(top)
			break
		}
	}
	text := `{"format_version": "2", "taken": "2026-11-20T10:00:00Z", "nodes": [], "notes": [], "objects": [{
  "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
  "metadata": {"name": "general", "uid": "1", "labels": {"lkeplan.dev/part-of": "sandbox"},
    "annotations": {"lkeplan.dev/directory": "` + origin + `"}},
  "spec": {"template": {"spec": {"requirements": [], "nodeClassRef": {"group": "karpenter.k8s.linode",
    "kind": "LinodeNodeClass", "name": "default"}}}}}]}`
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// repositoryOf is what a name of a directory has of its repository.
func repositoryOf(top string) string {
	git := func(args ...string) string {
		out, _ := exec.Command("git", append([]string{"-C", top, "-c", "safe.directory=*"}, args...)...).Output()
		return strings.TrimSpace(string(out))
	}
	id := git("rev-list", "--first-parent", "--max-parents=0", "HEAD")
	if id == "" || git("rev-parse", "--is-shallow-repository") == "true" {
		return ""
	}
	return "@" + id[:12]
}

// TestGitBaseDetection finds the base in each state of a repository, for a comparison of
// commits and for a comparison with a cluster, whose guards come from the base. The command
// that an error suggests is run and must help. Without git there is no base.
func TestGitBaseDetection(t *testing.T) {
	situations := sourcetest.All(t, "../../testdata/git")
	for _, name := range ofProcess {
		if !slices.ContainsFunc(situations, func(s sourcetest.Situation) bool { return s.Name == name }) {
			t.Errorf("unknown situation %s", name)
		}
	}
	places := make([]sourcetest.Place, len(situations))
	each := func(t *testing.T, test func(t *testing.T, n int, s sourcetest.Situation)) {
		for n, s := range situations {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				test(t, n, s)
			})
		}
	}
	root := t.TempDir()
	if !t.Run("make", func(t *testing.T) {
		each(t, func(t *testing.T, n int, s sourcetest.Situation) { places[n] = s.Make(in{t, root, s.Name}) })
	}) {
		return
	}
	bare := withoutGit(t)
	t.Setenv("HOME", t.TempDir()) // without the Git configuration of the user
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	change := func(s sourcetest.Situation) []string { return append([]string{"diff"}, s.Args...) }
	of := func(n int, s sourcetest.Situation, path string) comparing {
		if n%*every == 0 || slices.Contains(ofProcess, s.Name) {
			return inShell(path)
		}
		return inProcess
	}

	t.Run("without git", func(t *testing.T) {
		t.Setenv("PATH", bare)
		each(t, func(t *testing.T, n int, s sourcetest.Situation) {
			p := of(n, s, bare)(t, places[n], "", change(s)...)
			if !s.New && (p.code != 1 || p.report.Base != nil) {
				t.Errorf("without git: exit code %d, base %+v\n%s", p.code, p.report.Base, p.stderr)
			}
		})
	})

	t.Run("with git", func(t *testing.T) {
		each(t, func(t *testing.T, n int, s sourcetest.Situation) {
			at, ran, change := places[n], of(n, s, ""), change(s)
			prune := []string{"diff", "--base", "snapshot:" + snapshot(t, at), "--prune", "--cluster", "sandbox"}
			if len(s.Args) > 1 {
				prune = append(prune, "--guards", s.Args[1])
			}
			command := ""
			for _, args := range [][]string{change, prune} {
				p := ran(t, at, "", args...)
				if s.Error == "" {
					checkBase(t, s, at, p)
					continue
				}
				if p.code != 1 || !regexp.MustCompile(s.Error).MatchString(p.stderr) {
					t.Errorf("exit code %d, want an error like %q:\n%s", p.code, s.Error, p.stderr)
				}
				if command, _ = sourcetest.Advice(p.stderr); command == "" && s.Why != "" {
					t.Errorf("the error suggests no command:\n%s", p.stderr)
				}
			}
			if s.Error == "" || s.Why == "" || command == "" {
				return
			}
			t.Log("typed:", command)
			checkBase(t, s, at, ran(t, at, command, change...))
			prune[2] = "snapshot:" + snapshot(t, at) // the clone may be complete now
			checkBase(t, s, at, ran(t, at, command+" || true", prune...))
		})
	})
}

// in is a test with a directory that is not removed at its end.
type in struct {
	testing.TB
	root, name string
}

// TempDir implements testing.TB.
func (i in) TempDir() string {
	dir := filepath.Join(i.root, i.name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		i.Fatal(err)
	}
	return dir
}

// checkBase checks a comparison with the right base.
func checkBase(t *testing.T, s sourcetest.Situation, at sourcetest.Place, p printed) {
	t.Helper()
	base := p.report.Base
	if base != nil && base.Kind == "snapshot" {
		base = p.report.Rules
	}
	switch {
	case s.New && (p.code != 0 || p.report.Rules == nil || !strings.Contains(p.report.Rules.Ref, "itself")):
		t.Errorf("exit code %d; no note that its own guards apply to the directory: %+v\n%s", p.code, p.report, p.stderr)
	case s.New:
	case slices.Contains(ofTwoNames, s.Name) && base != p.report.Base && p.spares():
	case !p.protects():
		t.Errorf("exit code %d; the protected pool is removed: %+v\n%s", p.code, p.report, p.stderr)
	case base == nil || base.Ref == "" || !strings.HasPrefix(at.Right, base.Ref):
		t.Errorf("the base is %+v, want %s", base, at.Right)
	case !regexp.MustCompile(s.Why).MatchString(base.Why):
		t.Errorf("reason of the base: %q, want %q", base.Why, s.Why)
	}
}

// withoutGit returns a PATH without git.
func withoutGit(t *testing.T) string {
	t.Helper()
	path := t.TempDir()
	for _, name := range []string{"lkeplan", "sh"} {
		at, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(at, filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lkeplan/lkeplan/engine/source/sourcetest"
)

// printed is what a run of lkeplan has printed.
type printed struct {
	code   int
	stderr string
	report struct {
		Base, Rules *struct{ Kind, Ref, Why string }
		Guards      []struct{ ID, Status string }
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

// ran runs a comparison in a shell, after a command that an error has advised.
func ran(t *testing.T, at sourcetest.Place, path, before string, args ...string) (p printed) {
	t.Helper()
	script := `exec lkeplan "$@"`
	if before != "" {
		script = "{ " + before + "; } >&2 && " + script
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command("sh", append([]string{"-c", script, "sh"}, append(args, "-o", "json", at.Dir)...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = at.Work, &stdout, &stderr
	cmd.Env = at.Env
	if path != "" {
		cmd.Env = append(cmd.Env, "PATH="+path)
	}
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		p.code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if p.stderr = stderr.String(); stdout.Len() > 0 {
		if err := json.Unmarshal(stdout.Bytes(), &p.report); err != nil {
			t.Fatalf("%v\n%s\n%s", err, stdout.String(), p.stderr)
		}
	}
	return p
}

// snapshot writes what a cluster is like that has the configuration before the change.
func snapshot(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "cluster.json")
	text := `{"format_version": "1.0", "taken": "2026-11-20T10:00:00Z", "nodes": [], "notes": [], "objects": [{
  "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
  "metadata": {"name": "general", "uid": "1", "labels": {"lkeplan.dev/part-of": "sandbox"}},
  "spec": {"template": {"spec": {"requirements": [], "nodeClassRef": {"group": "karpenter.k8s.linode",
    "kind": "LinodeNodeClass", "name": "default"}}}}}]}`
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestTheBaseIsRightOrAnErrorSaysWhatToType, in every state that a repository may be in:
// for a comparison of commits, and for one with a cluster, whose guards come from the
// base. What an error says to type is typed, and has to help. Without git the library
// reads less, and never something else.
func TestTheBaseIsRightOrAnErrorSaysWhatToType(t *testing.T) {
	cluster, bare := snapshot(t), withoutGit(t)
	var read atomic.Int32
	t.Run("situations", func(t *testing.T) {
		for _, s := range sourcetest.All(t, "../../testdata/git") {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				at := s.Make(t)
				change := append([]string{"diff"}, s.Args...)
				prune := []string{"diff", "--base", "snapshot:" + cluster, "--prune", "--cluster", "sandbox"}
				if len(s.Args) > 1 {
					prune = append(prune, "--guards", s.Args[1])
				}
				if readsRight(t, s, at, ran(t, at, bare, "", change...)) {
					read.Add(1)
				}
				command := ""
				for _, args := range [][]string{change, prune} {
					p := ran(t, at, "", "", args...)
					if s.Error == "" {
						settled(t, s, at, p)
						continue
					}
					if p.code != 1 || !regexp.MustCompile(s.Error).MatchString(p.stderr) {
						t.Errorf("exit code %d, want an error like %q:\n%s", p.code, s.Error, p.stderr)
					}
					if command, _ = sourcetest.Advice(p.stderr); command == "" && s.Why != "" {
						t.Errorf("the error does not say what to type:\n%s", p.stderr)
					}
				}
				if s.Error == "" || s.Why == "" || command == "" {
					return
				}
				t.Log("typed:", command)
				settled(t, s, at, ran(t, at, "", command, change...))
				settled(t, s, at, ran(t, at, "", command+" || true", prune...))
			})
		}
	})
	if n := read.Load(); n < 25 {
		t.Errorf("without git only %d situations are read", n)
	}
}

// settled checks a comparison with the right base.
func settled(t *testing.T, s sourcetest.Situation, at sourcetest.Place, p printed) {
	t.Helper()
	base := p.report.Base
	if base != nil && base.Kind == "snapshot" {
		base = p.report.Rules
	}
	switch {
	case s.New && (p.code != 0 || p.report.Rules == nil || !strings.Contains(p.report.Rules.Ref, "itself")):
		t.Errorf("exit code %d; nobody says that the directory is judged by its own guards: %+v\n%s", p.code, p.report, p.stderr)
	case s.New:
	case !p.protects():
		t.Errorf("exit code %d; the protected pool goes: %+v\n%s", p.code, p.report, p.stderr)
	case base == nil || base.Ref == "" || !strings.HasPrefix(at.Right, base.Ref):
		t.Errorf("the base is %+v, want %s", base, at.Right)
	case !regexp.MustCompile(s.Why).MatchString(base.Why):
		t.Errorf("it is the base for %q, want %q", base.Why, s.Why)
	}
}

// readsRight reports whether a comparison without git has the right base. It may have an
// error instead, and nothing else.
func readsRight(t *testing.T, s sourcetest.Situation, at sourcetest.Place, p printed) bool {
	t.Helper()
	switch {
	case p.code == 1 && p.stderr != "":
	case s.New && p.code == 0 && p.report.Rules != nil:
	case p.protects() && strings.HasPrefix(at.Right, p.report.Base.Ref):
		return true
	default:
		t.Errorf("without git: exit code %d, base %+v, want %s\n%s", p.code, p.report.Base, at.Right, p.stderr)
	}
	return false
}

// withoutGit returns a PATH.
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

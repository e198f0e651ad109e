package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/engine/source/sourcetest"
)

// TestAPlanThatPrunesHasTheGuardsOfTheBase in every state that a repository may be in: the
// protected pool, which the change deletes together with its guard, stays.
func TestAPlanThatPrunesHasTheGuardsOfTheBase(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	before := t.TempDir()
	if err := os.WriteFile(filepath.Join(before, "main.lke.hcl"), []byte(sourcetest.Before()), 0o644); err != nil {
		t.Fatal(err)
	}
	s.ends(0, "apply", "--yes", "--wait", "none", before)
	for _, situation := range sourcetest.All(t, "../../../testdata/git") {
		t.Run(situation.Name, func(t *testing.T) {
			at := situation.Make(t)
			args := []string{"plan", "--prune", "--cluster", "sandbox"}
			if len(situation.Args) > 1 {
				args = append(args, "--guards", situation.Args[1])
			}
			code, report, stderr := s.planned(t, at, "", args)
			if command, _ := sourcetest.Advice(stderr); code == 1 && situation.Why != "" && command != "" {
				code, report, stderr = s.planned(t, at, command, args)
			}
			switch {
			case situation.Why == "" && code == 1:
			case situation.New && strings.Contains(report.Rules.Ref, "itself"):
			case code != 3 || !strings.HasPrefix(at.Right, report.Rules.Ref) || report.Rules.Ref == "":
				t.Errorf("exit code %d, judged by %+v, want 3 by %s\n%s", code, report.Rules, at.Right, stderr)
			}
		})
	}
}

// planned runs lkeplan in a situation, after a command that an error has advised.
func (s *sandbox) planned(t *testing.T, at sourcetest.Place, command string,
	args []string) (code int, report struct {
	Rules struct{ Kind, Ref, Why string }
}, stderr string) {
	t.Helper()
	script := `exec "$@"`
	if command != "" {
		script = "{ " + command + "; } >&2 && " + script
	}
	words := append([]string{"-c", script, "sh", bin(t, "lkeplan")}, args...)
	cmd := exec.Command("sh", append(words, "-o", "json", at.Dir)...)
	cmd.Dir, cmd.Env = at.Work, append(at.Env, "KUBECONFIG="+s.env["KUBECONFIG"])
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if len(out) > 0 {
		if err := json.Unmarshal(out, &report); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return code, report, said.String()
}

// TestADirectoryOfAnotherClusterIsRefused by what its objects, its controller and its
// nodes show, unless the user confirms the cluster by name.
func TestADirectoryOfAnotherClusterIsRefused(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	own := pooled(t, "", "web")
	other := pooled(t, "", "web")
	rewrite(t, other, `name   = "sandbox"`, `name   = "staging"`)
	rewrite(t, other, "weight       = 10", "weight       = 20")
	s.ends(0, "apply", "--yes", "--wait", "none", own)

	const evidence = "this is not the cluster staging of the directory: LinodeNodeClass default was applied from the " +
		"directory of the cluster sandbox"
	saved := filepath.Join(t.TempDir(), "staging.plan")
	for _, args := range [][]string{
		{"apply", "--yes"}, {"apply", "--yes", "--cluster", "production"}, {"plan"}, {"diff", "--base", "live"},
		{"diff", "--base", "dir:" + other, "--nodes", "live"},
	} {
		mustContain(t, s.ends(1, append(args, other)...), evidence, "context ", "https://")
	}
	mustContain(t, s.ends(1, "apply", "--yes", other), "choose another context with --context, or confirm this cluster with --cluster sandbox")
	mustContain(t, s.ends(1, "diff", "--base", "live", "--context", "nowhere", own), `no context "nowhere"; it has: `)
	mustContain(t, s.ends(0, "diff", "--base", "live", own), "compared with the cluster of context "+
		"", "https://", "No changes")

	// Told by name, it is shown that the objects change hands, and done.
	mustContain(t, s.ends(0, "plan", "--cluster", "sandbox", "--out", saved, other), `lkeplan.dev/part-of`, `"sandbox" → "staging"`)
	mustContain(t, s.ends(0, "apply", "--wait", "none", saved), "Applying to the cluster staging (context ", "2 changed")
	mustContain(t, s.ends(1, "apply", "--yes", own), "was applied from the directory of the cluster staging")

	s.startController()
	s.until("the controller has written down which cluster this is", time.Minute, func(state) bool {
		return strings.Contains(s.kube("", "get", "linodenodeclass", "default", "-o", "yaml"), "lkeplan.dev/lke-cluster: "+
			"100001/sandbox")
	})
	mustContain(t, s.ends(1, "apply", "--yes", other), "its controller reports the name sandbox")
}

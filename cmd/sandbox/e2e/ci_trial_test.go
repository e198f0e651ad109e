package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hostile is a name that Git and GitHub accept for a branch, title or label, and that
// a shell or runner must not execute.
const hostile = "$(touch${IFS}pwned)`touch${IFS}pwned`\";touch${IFS}pwned;'"

// trial is a repository with a pull request, and the runner that runs the
// workflows of the examples for it.
type trial struct {
	t      *testing.T
	repo   string // where commits are made
	origin string
	forge  string
	runner *Runner
	plain  bool // workflows check out with the defaults of actions/checkout
}

func newTrial(t *testing.T) *trial {
	t.Helper()
	for _, tool := range []string{"bash", "git", "jq", "unzip"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s", tool)
		}
	}
	here, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	tr := &trial{t: t, repo: filepath.Join(dir, "repo"), origin: filepath.Join(dir, "origin"),
		forge: filepath.Join(dir, "forge.json")}
	forge, err := NewForge(tr.forge)
	if err != nil || forge == nil {
		t.Fatal(err)
	}
	tr.runner = &Runner{
		Dir: dir, Origin: tr.origin, Ref: "refs/pull/7/merge", Here: here,
		Env:       []string{"FORGE=" + tr.forge, "NO_COLOR=1"},
		GitHub:    map[string]any{},
		Vars:      map[string]any{"LKEPLAN_VERSION": "v0.3.0"},
		Artifacts: map[string]map[string][]byte{},
	}
	tr.git("init", "--quiet", "--bare", tr.origin)
	tr.git("init", "--quiet", "--initial-branch=main", tr.repo)
	tr.write("clusters/prod/main.lke.hcl", clusterFile("prod", "720h"))
	tr.write("clusters/dev/main.lke.hcl", clusterFile("dev", "720h"))
	tr.write("modules/README.md", "None yet.\n")
	tr.commit("First")
	tr.git("-C", tr.repo, "push", "--quiet", tr.origin, "main")
	return tr
}

// clusterFile is a cluster with one pool; another expire_after rolls its nodes.
func clusterFile(name, expire string) string {
	return fmt.Sprintf(`cluster {
  name   = %q
  region = "us-ord"
}

guards {
  max_deleted_pools = 0
}

node_class "default" {}

pool "web" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 4 }
  expire_after = %q
}
`, name, expire)
}

func (tr *trial) git(args ...string) string {
	tr.t.Helper()
	out, err := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"},
		args...)...).CombinedOutput()
	if err != nil {
		tr.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (tr *trial) write(name, text string) {
	tr.t.Helper()
	name = filepath.Join(tr.repo, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		tr.t.Fatal(err)
	}
}

func (tr *trial) commit(message string) {
	tr.t.Helper()
	tr.git("-C", tr.repo, "add", "--all")
	tr.git("-C", tr.repo, "commit", "--quiet", "--allow-empty", "--message", message)
}

// propose pushes the working tree as the pull request, from a branch of the repository
// or from a fork.
func (tr *trial) propose(fork bool) {
	tr.t.Helper()
	branch := "change-" + hostile
	tr.git("-C", tr.repo, "checkout", "--quiet", "-B", branch)
	tr.commit("A change")
	head := tr.git("-C", tr.repo, "rev-parse", "HEAD")
	tr.git("-C", tr.repo, "checkout", "--quiet", "--detach", "main")
	tr.git("-C", tr.repo, "merge", "--quiet", "--no-ff", "--message", "Merge", head)
	push := []string{"-C", tr.repo, "push", "--quiet", "--force", tr.origin, "HEAD:refs/pull/7/merge"}
	repository := "acme/fleet"
	if fork {
		repository = "mallory/fleet"
	} else {
		push = append(push, head+":refs/heads/"+branch)
	}
	tr.git(push...)
	merge := tr.git("-C", tr.repo, "rev-parse", "HEAD")
	tr.git("-C", tr.repo, "checkout", "--quiet", branch)
	tr.runner.GitHub = map[string]any{
		"repository": "acme/fleet", "server_url": "https://github.com", "run_id": "99", "token": "t",
		"event_name": "pull_request", "base_ref": "main", "head_ref": branch, "ref": "refs/pull/7/merge",
		"sha": merge, "event": map[string]any{"action": "opened", "label": map[string]any{"name": ""}, "pull_request": map[string]any{
			"number": 7, "title": hostile, "labels": []any{},
			"head": map[string]any{"sha": head, "ref": branch, "repo": map[string]any{"full_name": repository}},
		}},
	}
	tr.change(func(f *Forge) {
		pull := Pull{State: "open"}
		pull.Head.SHA, pull.Head.Repo.ID = head, 1
		if fork {
			pull.Head.Repo.ID = 2
		}
		f.Pulls = map[string]Pull{"7": pull}
	})
}

func (tr *trial) change(change func(*Forge)) {
	tr.t.Helper()
	if err := changeForge(tr.forge, change); err != nil {
		tr.t.Fatal(err)
	}
}

func (tr *trial) comments() []Comment {
	tr.t.Helper()
	forge, err := OpenForge(tr.forge)
	if err != nil {
		tr.t.Fatal(err)
	}
	return forge.Comments
}

// run runs a job of a workflow of the examples.
func (tr *trial) run(workflow, job string) Result {
	tr.t.Helper()
	w, err := ReadWorkflow(filepath.Join(tr.runner.Here, "examples/github/workflows", workflow))
	if err != nil {
		tr.t.Fatal(err)
	}
	for _, step := range w.Jobs[job].Steps {
		if tr.plain && strings.HasPrefix(step.Uses, "actions/checkout@") {
			delete(step.With, "fetch-depth")
		}
	}
	res, err := tr.runner.Job(w, job)
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.harmless(res)
	return res
}

// harmless fails the test if a hostile name was executed, or the log has commands
// in addition to annotations.
func (tr *trial) harmless(res Result) {
	tr.t.Helper()
	for _, command := range commandsIn(res.Log) {
		if !strings.HasPrefix(command, "::error ") && !strings.HasPrefix(command, "::warning ") &&
			!strings.HasPrefix(command, "::notice") && !strings.HasPrefix(command, "::error::") {
			tr.t.Errorf("the log has the command %q", command)
		}
	}
	found, _ := filepath.Glob(filepath.Join(tr.runner.Dir, "*/*/pwned"))
	if len(found) > 0 {
		tr.t.Errorf("a hostile name was executed: %s", found)
	}
}

// commandsIn lists the workflow commands in a log, as runners find them: :: at the
// beginning of a line and ##[ anywhere, until the step stops them with
// ::stop-commands::.
func commandsIn(log string) (found []string) {
	stopped := ""
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		switch {
		case stopped != "":
			if line == "::"+stopped+"::" {
				stopped = ""
			}
		case strings.HasPrefix(line, "::stop-commands::"):
			stopped = strings.TrimPrefix(line, "::stop-commands::")
		case strings.HasPrefix(line, "::"), strings.Contains(line, "##["):
			found = append(found, line)
		}
	}
	return found
}

// passes fails the test unless the job ran to its end.
func (tr *trial) passes(res Result) Result {
	tr.t.Helper()
	if res.Skipped || res.Failed != "" {
		tr.t.Fatalf("skipped: %t, failed in %q\n%s", res.Skipped, res.Failed, res.Log)
	}
	return res
}

// fails fails the test unless the job failed in a step.
func (tr *trial) fails(step string, res Result) Result {
	tr.t.Helper()
	if res.Failed != step {
		tr.t.Fatalf("it failed in %q, not in %q\n%s", res.Failed, step, res.Log)
	}
	return res
}

func (tr *trial) contains(text string, parts ...string) {
	tr.t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			tr.t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}

// installed lets go install link the lkeplan of this test. The file asked records its
// calls.
func (tr *trial) installed() (asked string) {
	tr.t.Helper()
	tr.runner.Path = tr.t.TempDir()
	asked, err := installFakeGo(tr.runner.Path, bin(tr.t, "lkeplan"))
	if err != nil {
		tr.t.Fatal(err)
	}
	return asked
}

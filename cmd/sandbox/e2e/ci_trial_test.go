package e2e

import (
	"fmt"
	"maps"
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
	for _, tool := range []string{"bash", "git", "jq", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s", tool)
		}
	}
	dir := t.TempDir()
	tr := &trial{t: t, repo: filepath.Join(dir, "repo"), origin: filepath.Join(dir, "origin"),
		forge: filepath.Join(dir, "forge.json")}
	if _, err := NewForge(tr.forge); err != nil {
		t.Fatal(err)
	}
	tr.runner = &Runner{Dir: dir, Origin: tr.origin, Env: []string{"FORGE=" + tr.forge, "NO_COLOR=1"}, Path: t.TempDir()}
	if err := installFakeGo(tr.runner.Path, bin(t, "lkeplan")); err != nil {
		t.Fatal(err)
	}
	tr.git("init", "--quiet", "--bare", tr.origin)
	tr.git("init", "--quiet", "--initial-branch=main", tr.repo)
	tr.write("clusters/prod/main.lke.hcl", clusterFile("prod", "720h"))
	tr.write("clusters/dev/main.lke.hcl", clusterFile("dev", "720h"))
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

// event is an event of GitHub that starts workflows.
type event string

const (
	branch     event = "pull request from a branch"
	fork       event = "pull request from a fork"
	mergeQueue event = "merge queue"
	merged     event = "push to the default branch"
	scheduled  event = "schedule"
)

// propose pushes the working tree as a change, and has GitHub start a run for an event of it, with the
// variables and the event that GitHub gives to such a run.
func (tr *trial) propose(e event) {
	tr.t.Helper()
	name := "change-" + hostile
	tr.git("-C", tr.repo, "checkout", "--quiet", "-B", name)
	tr.commit("A change")
	base := tr.git("-C", tr.repo, "rev-parse", "main")
	head := tr.git("-C", tr.repo, "rev-parse", "HEAD")
	tr.git("-C", tr.repo, "checkout", "--quiet", "--detach", "main")
	tr.git("-C", tr.repo, "merge", "--quiet", "--no-ff", "--message", "Merge", head)
	merge := tr.git("-C", tr.repo, "rev-parse", "HEAD")
	tr.git("-C", tr.repo, "checkout", "--quiet", name)
	refs := map[event]string{branch: "refs/pull/7/merge", fork: "refs/pull/7/merge", merged: "refs/heads/main",
		mergeQueue: "refs/heads/gh-readonly-queue/main/pr-7-" + base, scheduled: "refs/heads/main"}
	tr.runner.Ref = refs[e]
	push := []string{"-C", tr.repo, "push", "--quiet", "--force", tr.origin, merge + ":" + refs[e]}
	if e != fork {
		push = append(push, head+":refs/heads/"+name)
	}
	tr.git(push...)

	full := "acme/fleet"
	if e == fork {
		full = "mallory/fleet"
	}
	repository := map[string]any{"full_name": "acme/fleet", "default_branch": "main"}
	pullRequest := map[string]any{"action": "synchronize", "repository": repository, "pull_request": map[string]any{
		"number": 7, "title": hostile, "labels": []any{}, "base": map[string]any{"ref": "main", "sha": base},
		"head": map[string]any{"sha": head, "ref": name, "repo": map[string]any{"full_name": full, "fork": e == fork}},
	}}
	tr.runner.GitHub = map[string]any{
		"repository": "acme/fleet", "server_url": "https://github.com", "run_id": "99", "token": "t", "actor": "jane",
		"ref": refs[e], "sha": merge, "base_ref": "", "head_ref": "",
	}
	switch e {
	case branch, fork:
		maps.Copy(tr.runner.GitHub, map[string]any{"event_name": "pull_request", "base_ref": "main", "head_ref": name,
			"event": pullRequest})
	case mergeQueue:
		maps.Copy(tr.runner.GitHub, map[string]any{"event_name": "merge_group", "event": map[string]any{
			"action": "checks_requested", "repository": repository, "merge_group": map[string]any{
				"head_sha": merge, "head_ref": refs[e], "base_sha": base, "base_ref": "refs/heads/main",
			}}})
	case merged:
		maps.Copy(tr.runner.GitHub, map[string]any{"event_name": "push", "event": map[string]any{
			"before": base, "after": merge, "ref": refs[e], "repository": repository}})
	case scheduled:
		maps.Copy(tr.runner.GitHub, map[string]any{"event_name": "schedule", "event": map[string]any{
			"schedule": "17 * * * *", "repository": repository}})
	}
	tr.runner.Vars, tr.runner.Secrets = map[string]any{"X": "x"}, map[string]any{"X": "x"}
	if e == fork { // it gets no secrets, no variables, and a token that can only read
		tr.runner.Vars, tr.runner.Secrets = map[string]any{}, map[string]any{}
	}
	tr.change(func(f *Forge) {
		pull := Pull{Labels: []Label{{hostile}}}
		pull.Head.SHA = head
		f.Pulls, f.ReadOnly = map[string]Pull{"7": pull}, e == fork
	})
}

// label adds a label to the pull request.
func (tr *trial) label(name string) {
	tr.change(func(f *Forge) {
		pull := f.Pulls["7"]
		pull.Labels = append(pull.Labels, Label{name})
		f.Pulls["7"] = pull
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

// check is the workflow that "lkeplan init --ci github" writes.
const check = "../../lkeplan/starter/github.yml"

// run runs the check of a pull request.
func (tr *trial) run() Result {
	tr.t.Helper()
	tr.runner.Artifacts = map[string]map[string][]byte{}
	w, err := ReadWorkflow(check)
	if err != nil {
		tr.t.Fatal(err)
	}
	for _, step := range w.Jobs["lkeplan"].Steps {
		if tr.plain && strings.HasPrefix(step.Uses, "actions/checkout@") {
			delete(step.With, "fetch-depth")
		}
	}
	res, err := tr.runner.Job(w, "lkeplan")
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

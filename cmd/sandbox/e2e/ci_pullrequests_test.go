package e2e

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPullRequestHasOneCommentThatIsEdited(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	asked := tr.installed()
	before := []Comment{
		{ID: 1, Issue: "7", User: User{Login: "mallory"}, Body: "<!-- lkeplan:clusters:v1 -->\nNothing to see."},
		{ID: 2, Issue: "7", User: User{Login: "github-actions[bot]"},
			Body: "It begins with <!-- lkeplan:clusters:v1 -->"},
		{ID: 3, Issue: "8", User: User{Login: "github-actions[bot]"},
			Body: "<!-- lkeplan:clusters:v1 -->\nOf another pull request."},
	}
	for i := range 120 { // more than a page
		before = append(before, Comment{ID: 1000 + i, Issue: "7", User: User{Login: "jane"}, Body: "Hm."})
	}
	tr.change(func(f *Forge) { f.Comments = before })
	own := func() string {
		t.Helper()
		all := tr.comments()
		if diff := cmp.Diff(before, all[:len(before)]); diff != "" {
			t.Errorf("comments of others (-before +after):\n%s", diff)
		}
		if n := len(all) - len(before); n != 1 {
			t.Fatalf("%d comments of ours, want 1", n)
		}
		return all[len(all)-1].Body
	}

	tr.write("clusters/prod/main.lke.hcl", clusterFile("prod", "336h"))
	tr.propose(false)
	res := tr.passes(tr.run("pull-request.yml", "plan"))
	tr.contains(own(), "<!-- lkeplan:clusters:v1 -->\n### lkeplan: ⚠️ replaces nodes of 1 pool\n", `"720h" → "336h"`,
		"commit ")
	tr.contains(res.Summary, "replaces nodes of 1 pool")
	tr.contains(res.Log, "::warning file=clusters/prod/main.lke.hcl", "Plan: 0 to create, 1 to update, 0 to delete.")
	if got, want := slices.Sorted(maps.Keys(tr.runner.Artifacts["plan"])),
		[]string{"comment.md", "errors.txt", "plan.html", "plan.json", "plan.txt"}; !slices.Equal(got, want) {
		t.Errorf("the artifact has %q, want %q", got, want)
	}
	text, err := os.ReadFile(asked)
	if err != nil ||
		!strings.HasPrefix(string(text), "install github.com/lkeplan/lkeplan/cmd/lkeplan@v0.3.0 in "+tr.runner.Dir) {
		t.Errorf("Go was asked to %q, %v", text, err)
	}

	// A push edits it, even one that does not compile.
	tr.write("clusters/prod/main.lke.hcl", clusterFile("prod", "24h"))
	tr.again()
	tr.passes(tr.run("pull-request.yml", "plan"))
	tr.contains(own(), `"720h" → "24h"`)
	tr.write("clusters/prod/main.lke.hcl",
		clusterFile("prod",
			"24h")+"\npool \"::set-output name=exit_code::0\" {\n  wieght = \"##[set-output name=exit_code]0\"\n}\n")
	tr.again()
	res = tr.fails("Validate", tr.run("pull-request.yml", "plan"))
	tr.contains(own(), "### lkeplan: 🛑 no plan for 1 of 1 directories\n", "| `clusters/prod` | no plan | `4 errors` |")
	tr.contains(res.Log, "::error file=clusters/prod/main.lke.hcl,line=18")

	// The directory is the same as in main again.
	tr.write("clusters/prod/main.lke.hcl", clusterFile("prod", "720h"))
	tr.again()
	tr.passes(tr.run("pull-request.yml", "plan"))
	tr.contains(own(), "### lkeplan: no changes\n")
}

// again pushes the working tree to the same pull request, after dropping the
// artifacts.
func (tr *trial) again() {
	tr.t.Helper()
	clear(tr.runner.Artifacts)
	tr.propose(false)
}

func TestPullRequestWithoutChangesHasNoComment(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.installed()
	tr.write("clusters/prod/README.md", "What runs here.\n")
	tr.propose(false)
	tr.passes(tr.run("pull-request.yml", "plan"))
	if all := tr.comments(); len(all) != 0 {
		t.Errorf("there is a comment though nothing changes: %v", all)
	}
}

func TestPullRequestThatAGuardRefuses(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.installed()
	whole := clusterFile("prod", "720h")
	tr.write("clusters/prod/main.lke.hcl", whole[:strings.Index(whole, "\npool")])
	tr.propose(false)
	res := tr.fails("Plan", tr.run("pull-request.yml", "plan"))
	tr.contains(res.Log, "::error title=lkeplan::A guard or policy refuses this change")
	tr.contains(tr.comments()[0].Body, "🛑 refused", "max_deleted_pools")

	// The label is believed in the run that it starts, and falls with the next push.
	tr.change(func(f *Forge) { f.Labels = map[string][]string{"7": {hostile, "lkeplan/allowed"}} })
	for _, run := range []struct {
		action, label string
		passes        bool
		left          []string
	}{
		{"labeled", "lkeplan/allowed", true, []string{hostile, "lkeplan/allowed"}},
		{"labeled", hostile, false, []string{hostile, "lkeplan/allowed"}},
		{"unlabeled", "lkeplan/allowed", false, []string{hostile, "lkeplan/allowed"}},
		{"reopened", "", false, []string{hostile, "lkeplan/allowed"}},
		{"synchronize", "", false, []string{hostile}},
		{"synchronize", "", false, []string{hostile}}, // it is gone already
	} {
		tr.again()
		event := tr.runner.GitHub["event"].(map[string]any)
		event["action"] = run.action
		event["pull_request"].(map[string]any)["labels"] = []any{
			map[string]any{"name": hostile}, map[string]any{"name": "lkeplan/allowed"},
		}
		event["label"] = map[string]any{"name": run.label} // GitHub leaves it out if there is none
		if res := tr.run("pull-request.yml", "plan"); run.passes {
			tr.passes(res)
		} else {
			tr.fails("Plan", res)
		}
		tr.change(func(f *Forge) {
			if !slices.Equal(f.Labels["7"], run.left) {
				t.Errorf("%s %s leaves the labels %q", run.action, run.label, f.Labels["7"])
			}
		})
	}
}

// TestPullRequestOnADefaultCheckoutFails where it deletes a protected pool and its
// guard: the one commit that is there does not say what was before.
func TestPullRequestOnADefaultCheckoutFails(t *testing.T) {
	t.Parallel()
	for workflow, fork := range map[string]bool{"pull-request.yml": false, "fork-plan.yml": true} {
		tr := newTrial(t)
		tr.installed()
		tr.plain = true
		tr.write("clusters/prod/main.lke.hcl", strings.ReplaceAll(protected, "max_deleted_pools = 0", "protected = "+
			"[pool.web]"))
		tr.commit("Protect the pool")
		tr.git("-C", tr.repo, "push", "--quiet", tr.origin, "main")
		tr.write("clusters/prod/main.lke.hcl", protected[:strings.Index(protected, "\npool")])
		tr.propose(fork)
		res := tr.fails("Plan", tr.run(workflow, "plan"))
		tr.contains(res.Log, "main, which GITHUB_BASE_REF names, is not in this clone; check out with fetch-depth: 0",
			"No plan could be made")
	}
}

var protected = clusterFile("prod", "720h")

// TestPullRequestOfManyClustersHasOneComment: two clusters change, one is deleted with a
// protected guard, and the comment has all of it.
func TestPullRequestOfManyClustersHasOneComment(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.installed()
	tr.write("clusters/prod/main.lke.hcl", clusterFile("prod", "336h"))
	tr.write("clusters/new/main.lke.hcl", clusterFile("new", "336h"))
	tr.git("-C", tr.repo, "rm", "--quiet", "-r", "clusters/dev")
	tr.propose(false)
	res := tr.fails("Plan", tr.run("pull-request.yml", "plan"))
	tr.contains(res.Log, "::error title=lkeplan::A guard or policy refuses this change", "BLOCKED  max_deleted_pools "+
		"for clusters/dev")
	if n := len(tr.comments()); n != 1 {
		t.Fatalf("%d comments, want 1", n)
	}
	tr.contains(tr.comments()[0].Body, "<!-- lkeplan:clusters:v1 -->\n### lkeplan: 🛑 refused; ⚠️ replaces nodes of 1 "+
		"pool, drains nodes of 1 pool\n",
		"| `clusters/new` | 2 to create", "| `clusters/prod` | 0 to create, 1 to update", "`clusters/dev:pool.web`")
}

// TestHostileNamesOfClustersAreNames: no shell and no runner obeys them.
func TestHostileNamesOfClustersAreNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{hostile, "-rf", "a b", "a\n::set-output name=directories::[]"} {
		tr := newTrial(t)
		tr.installed()
		tr.write("clusters/"+name+"/main.lke.hcl", clusterFile("a", "24h"))
		tr.propose(false)
		tr.passes(tr.run("pull-request.yml", "plan"))
		tr.contains(tr.comments()[0].Body, "2 to create")
	}
}

// TestPullRequestFromAForkIsNotForThisWorkflow, and the other way around: each pull
// request is planned once.
func TestPullRequestFromAForkIsNotForThisWorkflow(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.write("clusters/prod/README.md", "What runs here.\n")
	for workflow, forForks := range map[string]bool{"pull-request.yml": false, "fork-plan.yml": true} {
		for _, fork := range []bool{true, false} {
			tr.propose(fork)
			if res := tr.run(workflow, "plan"); !fork && !forForks {
				if res.Skipped {
					t.Errorf("%s, fork %t: skipped", workflow, fork)
				}
			} else if res.Skipped != (fork != forForks) {
				t.Errorf("%s, fork %t: skipped is %t", workflow, fork, res.Skipped)
			}
			tr.write("clusters/prod/README.md", fmt.Sprintf("What runs here, %s %t.\n", workflow, fork))
		}
	}
}

// handOver runs the first stage, and stores its artifact and the event of the second
// stage.
func (tr *trial) handOver() {
	tr.t.Helper()
	res := tr.run("fork-plan.yml", "plan")
	if res.Skipped {
		tr.t.Fatal("skipped")
	}
	tr.hand(tr.runner.Artifacts["lkeplan-clusters"])
}

// hand stores an artifact of files.
func (tr *trial) hand(files map[string][]byte) {
	tr.t.Helper()
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, err := archive.Create(name)
		if err != nil {
			tr.t.Fatal(err)
		}
		if _, err := w.Write(files[name]); err != nil {
			tr.t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		tr.t.Fatal(err)
	}
	var head string
	tr.change(func(f *Forge) {
		f.Artifacts = map[string][]Artifact{"99": {{ID: 5, Name: "lkeplan-clusters", Size: b.Len()},
			{ID: 6, Name: "other", Size: 1 << 30}}}
		f.Zips = map[string][]byte{"5": b.Bytes()}
		head = f.Pulls["7"].Head.SHA
	})
	tr.runner.GitHub = map[string]any{
		"repository": "acme/fleet", "server_url": "https://github.com", "run_id": "100", "token": "t",
		"event_name": "workflow_run",
		"event": map[string]any{"workflow_run": map[string]any{
			"id": 99, "event": "pull_request", "conclusion": "failure",
			"html_url": "https://github.com/acme/fleet/actions/runs/99",
			"head_sha": head, "head_branch": hostile, "head_repository": map[string]any{"id": 2},
		}, "pull_request": map[string]any{"number": nil}},
	}
}

func TestForkIsCommentedOnInTwoStages(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.installed()
	tr.write("clusters/prod/main.lke.hcl", clusterFile("prod", "336h"))
	tr.propose(true)
	tr.handOver()
	tr.passes(tr.run("fork-comment.yml", "comment"))
	body := tr.comments()[0].Body
	tr.contains(body,
		"<!-- lkeplan:clusters:v1 -->\n### lkeplan: ⚠️ replaces nodes of 1 pool\n\n"+
			"> From a fork: [a run](https://github.com/acme/fleet/actions/runs/99)",
		`"720h" → "336h"`, "<details><summary><code>clusters&#47;prod&#58;pool.web</code>")

	tr.write("clusters/prod/main.lke.hcl", clusterFile("prod", "24h"))
	clear(tr.runner.Artifacts)
	tr.propose(true)
	tr.handOver()
	tr.passes(tr.run("fork-comment.yml", "comment"))
	if all := tr.comments(); len(all) != 1 || !strings.Contains(all[0].Body, `"720h" → "24h"`) {
		t.Errorf("comments after the second push: %v", all)
	}
}

// TestForksGetNoSecrets: the first stage has neither secrets nor write
// permissions.
func TestForksGetNoSecrets(t *testing.T) {
	for name, want := range map[string]string{
		"fork-plan.yml":    `{"plan":{"contents":"read"}}`,
		"fork-comment.yml": `{"comment":{"actions":"read","pull-requests":"write"}}`,
	} {
		file := "../../../examples/github/workflows/" + name
		w, err := ReadWorkflow(file)
		if err != nil {
			t.Fatal(err)
		}
		granted := map[string]map[string]string{}
		for job, j := range w.Jobs {
			granted[job] = j.Permissions
			for _, step := range j.Steps {
				if strings.HasPrefix(step.Uses, "actions/checkout@") &&
					(name == "fork-comment.yml" || step.With["persist-credentials"] != false) {
					t.Errorf("%s checks out %v", name, step.With)
				}
			}
		}
		if got, _ := json.Marshal(granted); string(got) != want || w.Permissions == nil || len(w.Permissions) > 0 {
			t.Errorf("%s may %s, and by default %v", name, got, w.Permissions)
		}
		text, err := os.ReadFile(file)
		if err != nil || bytes.Contains(text, []byte("${{ secrets")) || bytes.Contains(text, []byte("pull_request_target:")) {
			t.Errorf("%s has secrets, or runs with those of the base: %v", name, err)
		}
	}
}

func TestHostileHandOverIsRefused(t *testing.T) {
	t.Parallel()
	const marker = "<!-- lkeplan:clusters/prod:v1 -->\n### lkeplan: fine\n"
	file := func(number, comment string) map[string][]byte {
		return map[string][]byte{"number": []byte(number), "comment.md": []byte(comment)}
	}
	tests := []struct {
		name  string
		files map[string][]byte
		forge func(*Forge)
		says  string // of the step that refuses; "" where nothing is wrong
	}{
		{"a number that is a command", file("1; rm -rf /\n", marker), nil, "not a number"},
		{"a number of two lines", file("7\npull-request=8\n", marker), nil, "not a number"},
		{"no number", map[string][]byte{"comment.md": []byte(marker)}, nil, "not a number"},
		{"no comment", map[string][]byte{"number": []byte("7\n")}, nil, "does not begin with the marker"},
		{"no marker", file("7\n", "Hello.\n"+marker), nil, "does not begin with the marker"},
		{"another marker", file("7\n", "<!-- lkeplan:--><img src=x>:v1 -->\n"), nil, "does not begin with the marker"},
		{"10 MB", file("7\n", marker+strings.Repeat("a", 10<<20)), nil, "too long"},
		{"an artifact of 10 MB", file("7\n", marker), func(f *Forge) { f.Artifacts["99"][0].Size = 10 << 20 },
			"larger than 1 MiB"},
		{"no archive", file("7\n", marker), func(f *Forge) { f.Zips["5"] = []byte("PK\x03\x04 and no more") },
			"not a number"},
		{"a pull request that is not there", file("12\n", marker), nil, "HTTP 404"},
		{"a pull request of another user", file("8\n", marker), func(f *Forge) {
			pull := f.Pulls["7"]
			pull.Head.Repo.ID = 3
			f.Pulls["8"] = pull
		}, "not from the fork"},
		{"another commit", file("7\n", marker), func(f *Forge) {
			pull := f.Pulls["7"]
			pull.Head.SHA = strings.Repeat("0", 40)
			f.Pulls["7"] = pull
		}, "::notice::Pull request 7 is closed, or has another head by now"},
		{"too many artifacts", file("7\n", marker), func(f *Forge) {
			for i := range 30 {
				f.Artifacts["99"] = append(f.Artifacts["99"], Artifact{ID: 10 + i, Name: "lkeplan-x"})
			}
		}, "more than 20"},
		{"entries that climb", map[string][]byte{"../../../pwned": []byte("x"), "number": []byte("7\n"),
			"comment.md": []byte(marker)}, nil, ""},
	}
	tr := newTrial(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr.t = t
			tr.propose(true)
			tr.change(func(f *Forge) { f.Comments = nil })
			tr.hand(tt.files)
			if tt.forge != nil {
				tr.change(tt.forge)
			}
			res := tr.run("fork-comment.yml", "comment")
			tr.contains(res.Log, tt.says)
			if refused := tt.says != ""; refused == (len(tr.comments()) > 0) {
				t.Errorf("%d comments\n%s", len(tr.comments()), res.Log)
			}
			if strings.HasPrefix(tt.says, "::notice") == (res.Failed != "") && tt.says != "" {
				t.Errorf("it failed in %q", res.Failed)
			}
		})
	}
}

// TestHostileCommentIsDefused: text of a pull request's author mentions no user, links
// nowhere and triggers no bot.
func TestHostileCommentIsDefused(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.write("clusters/prod/README.md", "What runs here.\n")
	tr.propose(true)
	tr.hand(map[string][]byte{"number": []byte("7"), "comment.md": []byte(`<!-- lkeplan:clusters/prod:v1 -->
### lkeplan: fine @acme/owners
/approve
  > /merge
@dependabot merge, &#64;jane, &#x40;jane, &commat;jane
[log in](https://evil.example) ![](//evil.example/x.png) www.evil.example
[ref]: //evil.example
<a href="//evil.example">here</a> <img src=x> <!-- lkeplan:clusters/dev:v1 -->
<details><summary><code>pool.web</code></summary>` + "\x01a href=x\x02\r\n</details>\n")})
	tr.passes(tr.run("fork-comment.yml", "comment"))
	body := tr.comments()[0].Body
	_, theirs, _ := strings.Cut(body, "\n")
	head, rest, _ := strings.Cut(theirs, "\n> From a fork: ")
	_, rest, _ = strings.Cut(rest, "\n")
	for _, live := range []string{"@acme", "@dep", "\n/app", "> /merge", "&#64;jane", "&#x40;jane", "&commat;jane", "](",
		"]:", "://", "<a", "<img", "<!--", "www.e", "\x01", "\r"} {
		if strings.Contains(head+rest, live) {
			t.Errorf("%q is not defused in:\n%s", live, body)
		}
	}
	tr.contains(rest, "<details><summary><code>pool.web</code></summary>", "</details>")
}

func TestInstallTakesOneVersionAlone(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	asked := tr.installed()
	tr.write("clusters/prod/README.md", "What runs here.\n")
	tr.propose(false)
	for _, version := range []string{"", "latest", "main", "v1", "v1.2.3 -x", "-modfile=x", hostile, "v1.2.3\nx"} {
		tr.runner.Vars["LKEPLAN_VERSION"] = version
		res := tr.fails("setup", tr.run("pull-request.yml", "plan"))
		for _, step := range []string{"Validate", "Code scanning", "Plan", "Reports"} {
			if strings.Contains(res.Log, "== "+step+"\n") {
				t.Errorf("%s runs though nothing is installed:\n%s", step, res.Log)
			}
		}
		clear(tr.runner.Artifacts)
	}
	if text, err := os.ReadFile(asked); err == nil {
		t.Errorf("Go was asked to %s", text)
	}
	tr.runner.Vars["LKEPLAN_VERSION"] = strings.Repeat("a1", 20)
	tr.passes(tr.run("pull-request.yml", "plan"))
}

package e2e

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const workflows = "../../../examples/github/workflows/"

// TestWhatGitHubRuns has a row for each event: which workflows it starts, whether the check passes, and
// what it posts. No row passes though a guard refuses, unless a label has this commit.
func TestWhatGitHubRuns(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	const ours = "lkeplan/allow-"
	tests := []struct {
		event
		refused  bool
		label    string // "head" for one with the digits of the commit
		starts   string
		fails    bool
		comments int
	}{
		{event: branch, starts: "lkeplan.yml", comments: 1},
		{event: branch, refused: true, starts: "lkeplan.yml", fails: true, comments: 1},
		{event: branch, refused: true, label: ours + "0123456789abcdef", starts: "lkeplan.yml", fails: true, comments: 1},
		{event: branch, refused: true, label: ours, starts: "lkeplan.yml", fails: true, comments: 1},
		{event: branch, refused: true, label: "head", starts: "lkeplan.yml", comments: 1},
		{event: fork, starts: "lkeplan.yml"},
		{event: fork, refused: true, starts: "lkeplan.yml", fails: true},
		{event: fork, refused: true, label: "head", starts: "lkeplan.yml"},
		{event: mergeQueue, starts: "lkeplan.yml"},
		{event: mergeQueue, refused: true, starts: "lkeplan.yml", fails: true},
		{event: mergeQueue, refused: true, label: "head", starts: "lkeplan.yml"},
		{event: scheduled, starts: "catalog.yml snapshot.yml"},
		{event: merged, starts: "apply.yml"},
	}
	for _, tt := range tests {
		t.Run(strings.Join([]string{string(tt.event), tt.label}, " "), func(t *testing.T) {
			tr.t = t
			content := clusterFile("prod", "336h")
			if tt.refused {
				content, _, _ = strings.Cut(content, "\npool")
			}
			tr.write("clusters/prod/main.lke.hcl", content)
			tr.change(func(f *Forge) { f.Comments = nil })
			before := tr.git("-C", tr.repo, "rev-parse", "main")
			tr.propose(tt.event)
			if tt.label == "head" {
				tt.label = ours + tr.git("-C", tr.repo, "rev-parse", "HEAD")[:16]
			}
			tr.label(tt.label)
			var starts []string
			for _, file := range []string{workflows + "apply.yml", workflows + "catalog.yml", check, workflows + "snapshot.yml"} {
				w, err := ReadWorkflow(file)
				if err != nil {
					t.Fatal(err)
				}
				if _, on := w.On[tr.runner.GitHub["event_name"].(string)]; on {
					starts = append(starts, strings.Replace(filepath.Base(file), "github.yml", "lkeplan.yml", 1))
				}
			}
			if diff := cmp.Diff(tt.starts, strings.Join(starts, " ")); diff != "" {
				t.Fatalf("workflows (-want +got):\n%s", diff)
			}
			if tt.starts != "lkeplan.yml" {
				tr.git("-C", tr.repo, "push", "--quiet", "--force", tr.origin, before+":refs/heads/main")
				return // TestWorkflowsPlanApplyAndSnapshot runs them
			}
			res := tr.run()
			if got := res.Failed != ""; got != tt.fails || res.Skipped {
				t.Errorf("failed in %q, skipped: %t\n%s", res.Failed, res.Skipped, res.Log)
			}
			if n := len(tr.comments()); n != tt.comments {
				t.Errorf("%d comments, want %d", n, tt.comments)
			}
			if tt.refused {
				tr.contains(res.Log, ours+tr.git("-C", tr.repo, "rev-parse", "HEAD")[:16])
				tr.contains(res.Summary, "max_deleted_pools")
			} else {
				tr.contains(res.Summary, "replaces nodes of 1 pool", `"720h" → "336h"`)
			}
		})
	}
}

// TestGiteaChecksPullRequests runs the example for Gitea, which sets GitHub's variables, but checks out the head of a pull
// request instead of a merge.
func TestGiteaChecksPullRequests(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	w, err := ReadWorkflow("../../../examples/integrations/gitea.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, refused := range []bool{false, true} {
		content := clusterFile("prod", "336h")
		if refused {
			content, _, _ = strings.Cut(content, "\npool")
		}
		tr.write("clusters/prod/main.lke.hcl", content)
		tr.propose(branch)
		tr.runner.Ref = "refs/pull/7/head"
		tr.git("-C", tr.repo, "push", "--quiet", "--force", tr.origin, "HEAD:"+tr.runner.Ref)
		maps.Copy(tr.runner.GitHub, map[string]any{"ref": tr.runner.Ref, "sha": tr.git("-C", tr.repo, "rev-parse", "HEAD")})
		res, err := tr.runner.Job(w, "lkeplan")
		if err != nil {
			t.Fatal(err)
		}
		tr.harmless(res)
		if refused {
			tr.contains(tr.fails("lkeplan diff --recursive --affected .", res).Log, "max_deleted_pools")
		} else {
			tr.contains(tr.passes(res).Log, "replaces nodes of 1 pool", `"720h" → "336h"`)
		}
	}
}

// TestTheCheckCanBeRequired: one job has the name of the check, nothing skips it, and it needs nothing
// that the run of a fork does not get.
func TestTheCheckCanBeRequired(t *testing.T) {
	names := []string{}
	for _, file := range []string{check, workflows + "apply.yml", workflows + "snapshot.yml", workflows + "catalog.yml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		w, err := ReadWorkflow(file)
		if err != nil {
			t.Fatal(err)
		}
		for name, job := range w.Jobs {
			if slices.Contains(names, name) {
				t.Errorf("%s: another workflow has a job %s, and a rule cannot tell them apart", file, name)
			}
			names = append(names, name)
			if file == check && job.If != "" {
				t.Errorf("%s: the job %s has a condition: a job that is skipped passes", file, name)
			}
		}
		forbidden := []string{"paths:", "paths-ignore:", "pull_request_target:", "vars."}
		if file == check {
			forbidden = append(forbidden, "secrets.")
		}
		for _, word := range forbidden {
			if bytes.Contains(text, []byte(word)) {
				t.Errorf("%s has %s", file, word)
			}
		}
	}
}

func TestPullRequestHasOneCommentThatIsEdited(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	before := []Comment{
		{ID: 1, Issue: "7", User: User{Login: "mallory"}, Body: "<!-- lkeplan:.:v1 -->\nNothing to see."},
		{ID: 2, Issue: "7", User: User{Login: "github-actions[bot]"}, Body: "It begins with <!-- lkeplan:.:v1 -->"},
		{ID: 3, Issue: "8", User: User{Login: "github-actions[bot]"}, Body: "<!-- lkeplan:.:v1 -->\nOf another pull request."},
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
	tr.propose(branch)
	res := tr.passes(tr.run())
	tr.contains(own(), "<!-- lkeplan:.:v1 -->\n### lkeplan: ⚠️ replaces nodes of 1 pool\n", `"720h" → "336h"`, "commit ")
	tr.contains(res.Log, "::warning file=clusters/prod/main.lke.hcl")

	// A push edits it, even one that does not compile.
	tr.write("clusters/prod/main.lke.hcl", clusterFile("prod", "24h"))
	tr.propose(branch)
	tr.passes(tr.run())
	tr.contains(own(), `"720h" → "24h"`)
	tr.write("clusters/prod/main.lke.hcl", clusterFile("prod", "24h")+
		"\npool \"::set-output name=exit_code::0\" {\n  wieght = \"##[set-output name=exit_code]0\"\n}\n")
	tr.propose(branch)
	res = tr.fails("Validate", tr.run())
	tr.contains(own(), "### lkeplan: 🛑 no plan for 1 of 1 directories\n", "| `clusters/prod` | no plan | `4 errors` |")
	tr.contains(res.Log, "::error file=clusters/prod/main.lke.hcl,line=18")

	// The directory is the same as in main again.
	tr.write("clusters/prod/main.lke.hcl", clusterFile("prod", "720h"))
	tr.propose(branch)
	tr.passes(tr.run())
	tr.contains(own(), "### lkeplan: no changes\n")
}

func TestPullRequestWithoutChangesHasNoComment(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.write("clusters/prod/README.md", "What runs here.\n")
	tr.propose(branch)
	tr.passes(tr.run())
	if all := tr.comments(); len(all) != 0 {
		t.Errorf("there is a comment though nothing changes: %v", all)
	}
}

// TestPullRequestOnADefaultCheckoutFails where it deletes a protected pool and its
// guard: the one commit that is there does not say what was before.
func TestPullRequestOnADefaultCheckoutFails(t *testing.T) {
	t.Parallel()
	for _, e := range []event{branch, fork} {
		tr := newTrial(t)
		tr.plain = true
		whole := clusterFile("prod", "720h")
		tr.write("clusters/prod/main.lke.hcl", strings.ReplaceAll(whole, "max_deleted_pools = 0", "protected = [pool.web]"))
		tr.commit("Protect the pool")
		tr.git("-C", tr.repo, "push", "--quiet", tr.origin, "main")
		without, _, _ := strings.Cut(whole, "\npool")
		tr.write("clusters/prod/main.lke.hcl", without)
		tr.propose(e)
		res := tr.fails("Plan", tr.run())
		tr.contains(res.Log, "main, which GITHUB_BASE_REF names, is not in this clone; check out with fetch-depth: 0")
		if e == branch {
			tr.contains(tr.comments()[0].Body, "### lkeplan: 🛑 no plan\n")
		}
	}
}

// TestPullRequestOfManyClustersHasOneComment: two clusters change, one is deleted with a
// protected guard, and the comment has all of it.
func TestPullRequestOfManyClustersHasOneComment(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.write("clusters/prod/main.lke.hcl", clusterFile("prod", "336h"))
	tr.write("deep/in/the/tree/new/main.lke.hcl", clusterFile("new", "336h"))
	tr.git("-C", tr.repo, "rm", "--quiet", "-r", "clusters/dev")
	tr.propose(branch)
	tr.fails("Plan", tr.run())
	if n := len(tr.comments()); n != 1 {
		t.Fatalf("%d comments, want 1", n)
	}
	tr.contains(tr.comments()[0].Body, "<!-- lkeplan:.:v1 -->\n### lkeplan: 🛑 refused; ⚠️ replaces nodes of 1 pool, drains "+
		"nodes of 1 pool\n",
		"| `deep/in/the/tree/new` | 2 to create", "| `clusters/prod` | 0 to create, 1 to update", "`clusters/dev:pool.web`")
}

// TestHostileNamesOfClustersAreNames: no shell and no runner obeys them.
func TestHostileNamesOfClustersAreNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{hostile, "-rf", "a b", "a\n::set-output name=directories::[]"} {
		tr := newTrial(t)
		tr.write(filepath.Join("clusters", name, "main.lke.hcl"), clusterFile("a", "24h"))
		tr.write(filepath.Join("clusters", name, "main.lketest.hcl"), "run \"a pod\" {\n  pods = [\"1x1cpu\"]\n\n"+
			"  assert {\n    condition     = simulate.nodes == 1\n    error_message = \"x\"\n  }\n}\n")
		tr.propose(branch)
		tr.passes(tr.run())
		tr.contains(tr.comments()[0].Body, "2 to create")
	}
}

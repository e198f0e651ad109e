package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// merges is a merge request of GitLab, checked out.
type merges struct {
	*trial
	template Template
	base     string
	work     string // where the last job ran
}

func newMerges(t *testing.T) *merges {
	t.Helper()
	m := &merges{trial: newTrial(t)}
	m.installed()
	var err error
	if m.template, err = ReadTemplate("../../../examples/gitlab/merge-request.gitlab-ci.yml", "v0.3.0"); err != nil {
		t.Fatal(err)
	}
	m.template.Path = m.runner.Path
	m.base = m.git("-C", m.repo, "rev-parse", "HEAD")
	return m
}

// job runs a job, and fails the test if it exits with another code or a report is
// missing.
func (m *merges) job(name string, code int) string {
	m.t.Helper()
	const ref = "refs/merge-requests/7/head"
	m.git("-C", m.repo, "push", "--quiet", "--force", m.origin, "HEAD:"+ref)
	m.work = m.t.TempDir()
	if err := m.template.Checkout(name, m.work, m.origin, ref); err != nil {
		m.t.Fatal(err)
	}
	log, got, err := m.template.Run(name, m.work, map[string]string{
		"CI_MERGE_REQUEST_DIFF_BASE_SHA": m.base, "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "CI_DEFAULT_BRANCH": "main",
		"CI_MERGE_REQUEST_TITLE": hostile, "CI_COMMIT_REF_NAME": hostile,
	})
	if err != nil || got != code {
		m.t.Fatalf("%s exits with %d, want %d: %v\n%s", name, got, code, err, log)
	}
	if _, err := os.Stat(filepath.Join(m.work, "pwned")); err == nil {
		m.t.Error("a hostile name was executed")
	}
	return log
}

// report reads one of the reports of a job.
func (m *merges) report(name string, into any) {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.work, ".lkeplan", name))
	if err != nil {
		m.t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		m.t.Fatalf("%s: %v\n%s", name, err, text)
	}
}

func TestMergeRequestHasReports(t *testing.T) {
	m := newMerges(t)
	m.write("clusters/prod/main.lke.hcl", clusterFile("prod", "336h"))
	m.commit("A change")
	m.job("lkeplan:validate", 0)
	m.contains(m.job("lkeplan:diff", 0), `"720h" → "336h"  replaces nodes`)
	var quality []struct{ Severity string }
	m.report("codequality.json", &quality)
	if len(quality) != 1 || quality[0].Severity != "major" {
		t.Errorf("code quality says %v", quality)
	}
	for _, name := range m.template.Jobs["lkeplan:diff"].Artifacts.Paths {
		if info, err := os.Stat(filepath.Join(m.work, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s is not there: %v", name, err)
		}
	}
}

func TestMergeRequestWithErrorsHasThemAsCodeQuality(t *testing.T) {
	m := newMerges(t)
	m.write("clusters/prod/main.lke.hcl", clusterFile("prod", "336h")+"\npool \"x\" {\n  wieght = 1\n}\n")
	m.commit("A mistake")
	m.job("lkeplan:validate", 1)
	m.job("lkeplan:diff", 1)
	var quality []struct{ Description string }
	m.report("codequality.json", &quality)
	if len(quality) != 2 {
		t.Errorf("code quality says %v", quality)
	}
}

func TestMergeRequestThatAGuardRefuses(t *testing.T) {
	m := newMerges(t)
	whole := clusterFile("prod", "720h")
	m.write("clusters/prod/main.lke.hcl", whole[:strings.Index(whole, "\npool")])
	m.commit("Delete a pool")
	m.contains(m.job("lkeplan:diff", 3), "LKEPLAN_ALLOW", "Refused by: max_deleted_pools.")
}

// TestMergeRequestOnAShallowCheckoutFails where it deletes a pool and its guard: however
// deep the clone is, nothing passes that was not compared.
func TestMergeRequestOnAShallowCheckoutFails(t *testing.T) {
	m := newMerges(t)
	whole := clusterFile("prod", "720h")
	without, _, _ := strings.Cut(whole, "\npool")
	m.write("clusters/prod/main.lke.hcl", strings.ReplaceAll(without, "max_deleted_pools = 0", "max_deleted_pools = 9"))
	m.commit("Delete a pool")
	for depth, want := range map[string]struct {
		code int
		says string
	}{
		"1": {1, `main, which CI_MERGE_REQUEST_TARGET_BRANCH_NAME names, is not in this clone; set the variable GIT_DEPTH: "0"`},
		"":  {3, "Refused by: max_deleted_pools."}, // twenty commits
		"0": {3, "Refused by: max_deleted_pools."},
	} {
		m.template.Jobs["lkeplan:diff"].Variables["GIT_DEPTH"] = depth
		m.contains(m.job("lkeplan:diff", want.code), want.says)
	}
}

func TestTemplateTakesOneVersionAlone(t *testing.T) {
	for _, version := range []string{"", "latest", "v1", "v1.2.3; touch pwned"} {
		for _, name := range []string{"merge-request", "lkeplan"} {
			if _, err := ReadTemplate("../../../examples/gitlab/"+name+".gitlab-ci.yml", version); err == nil {
				t.Errorf("%s takes %q", name, version)
			}
		}
	}
}

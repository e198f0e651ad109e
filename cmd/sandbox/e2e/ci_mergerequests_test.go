package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// merges is a merge request of GitLab, checked out.
type merges struct {
	*trial
	template  Template
	variables map[string]string // that GitLab sets
	work      string            // where the jobs run
	notes     []string          // of the merge request
}

// pipeline is a kind of pipeline of GitLab.
type pipeline string

const (
	fromBranch    pipeline = "merge request from a branch"
	fromFork      pipeline = "merge request from a fork"
	mergedResults pipeline = "merged results"
	mergeTrain    pipeline = "merge train"
	onSchedule    pipeline = "schedule"
	onDefault     pipeline = "default branch"
	onBranch      pipeline = "branch without a merge request"
)

func newMerges(t *testing.T) *merges {
	t.Helper()
	m := &merges{trial: newTrial(t)}
	var err error
	if m.template, err = ReadTemplate("../../lkeplan/starter/gitlab.yml", ""); err != nil {
		t.Fatal(err)
	}
	m.template.Path = m.runner.Path
	if err := os.WriteFile(filepath.Join(m.runner.Path, "apk"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return m
}

// propose pushes the working tree, and has GitLab start a pipeline for it.
func (m *merges) propose(kind pipeline) {
	m.t.Helper()
	m.git("-C", m.repo, "checkout", "--quiet", "-B", "change")
	m.commit("A change")
	base, head := m.git("-C", m.repo, "rev-parse", "main"), m.git("-C", m.repo, "rev-parse", "HEAD")
	m.variables = map[string]string{
		"CI_DEFAULT_BRANCH": "main", "CI_PROJECT_ID": "3", "CI_JOB_TOKEN": "job", "CI_API_V4_URL": m.api(),
		"CI_COMMIT_SHA": head, "CI_COMMIT_REF_NAME": hostile,
	}
	set := func(name, value string) { m.variables[name] = value }
	ref := "refs/heads/change"
	switch kind {
	case onSchedule, onDefault, onBranch:
		set("CI_COMMIT_BRANCH", map[pipeline]string{onSchedule: "main", onDefault: "main", onBranch: "change"}[kind])
		set("CI_PIPELINE_SOURCE", map[pipeline]string{onSchedule: "schedule", onDefault: "push", onBranch: "push"}[kind])
	default:
		ref = "refs/merge-requests/7/head"
		for name, value := range map[string]string{
			"CI_PIPELINE_SOURCE": "merge_request_event", "CI_MERGE_REQUEST_IID": "7", "CI_MERGE_REQUEST_PROJECT_ID": "3",
			"CI_MERGE_REQUEST_DIFF_BASE_SHA": base, "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
			"CI_MERGE_REQUEST_TITLE": hostile, "CI_MERGE_REQUEST_LABELS": hostile, "LKEPLAN_TOKEN": "project",
		} {
			set(name, value)
		}
	}
	switch kind {
	case fromFork: // it runs in the fork, which has none of the variables of the project
		set("CI_PROJECT_ID", "4")
		delete(m.variables, "LKEPLAN_TOKEN")
	case mergedResults, mergeTrain:
		m.git("-C", m.repo, "checkout", "--quiet", "--detach", "main")
		m.git("-C", m.repo, "merge", "--quiet", "--no-ff", "--message", "Merge", head)
		ref = "refs/merge-requests/7/merge"
		set("CI_COMMIT_SHA", m.git("-C", m.repo, "rev-parse", "HEAD"))
		set("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", head)
		set("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", base)
	}
	m.git("-C", m.repo, "push", "--quiet", "--force", m.origin, "HEAD:"+ref)
	m.git("-C", m.repo, "checkout", "--quiet", "change")
	m.work = m.t.TempDir()
	if err := m.template.Checkout("lkeplan", m.work, m.origin, ref); err != nil {
		m.t.Fatal(err)
	}
}

// packages serves GitLab's registry of generic packages, which keeps the snapshots of clusters.
func packages() http.Handler {
	stored := map[string][]byte{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch data, there := stored[r.URL.Path]; {
		case r.Header.Get("JOB-TOKEN") != "job":
			w.WriteHeader(http.StatusUnauthorized)
		case r.Method == http.MethodPut:
			stored[r.URL.Path], _ = io.ReadAll(r.Body) // the test fails if it is not whole
			w.WriteHeader(http.StatusCreated)
		case !there:
			w.WriteHeader(http.StatusNotFound)
		default:
			_, _ = w.Write(data) // the client is a test
		}
	})
}

// api serves the part of GitLab's API that the jobs use.
func (m *merges) api() string {
	const notes = "/projects/3/merge_requests/7/notes"
	type note struct {
		ID     int            `json:"id"`
		Author map[string]int `json:"author"`
		Body   string         `json:"body"`
	}
	mux := http.NewServeMux()
	mux.Handle("/projects/3/packages/", packages())
	answer := func(pattern string, f func(r *http.Request) any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("PRIVATE-TOKEN") != "project" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			if err := json.NewEncoder(w).Encode(f(r)); err != nil {
				m.t.Error(err)
			}
		})
	}
	answer("GET /user", func(*http.Request) any { return map[string]int{"id": 42} })
	answer("GET "+notes, func(r *http.Request) any {
		all := []note{}
		switch r.FormValue("page") {
		case "1":
			all = append(all, note{1, map[string]int{"id": 5}, "<!-- lkeplan:.:v1 -->\nOf another user."})
		case "2":
			for i, body := range m.notes {
				all = append(all, note{100 + i, map[string]int{"id": 42}, body})
			}
		}
		return all
	})
	answer("POST "+notes, func(r *http.Request) any {
		m.notes = append(m.notes, r.FormValue("body"))
		return nil
	})
	answer("PUT "+notes+"/{id}", func(r *http.Request) any {
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil {
			return err.Error()
		}
		m.notes[id-100] = r.FormValue("body")
		return nil
	})
	server := httptest.NewServer(mux)
	m.t.Cleanup(server.Close)
	return server.URL
}

// job runs a job, and fails the test if it exits with another code.
func (m *merges) job(name string, code int) string {
	m.t.Helper()
	log, got, err := m.template.Run(name, m.work, m.variables)
	if err != nil || got != code {
		m.t.Fatalf("%s exits with %d, want %d: %v\n%s", name, got, code, err, log)
	}
	if _, err := os.Stat(filepath.Join(m.work, "pwned")); err == nil {
		m.t.Error("a hostile name was executed")
	}
	return log
}

// quality reads the code quality report of the job.
func (m *merges) quality() (list []struct{ Severity, Description string }) {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.work, ".lkeplan/codequality.json"))
	if err != nil {
		m.t.Fatal(err)
	}
	if err := json.Unmarshal(text, &list); err != nil {
		m.t.Fatalf("%v\n%s", err, text)
	}
	return list
}

// TestWhatGitLabRuns has a row for each kind of pipeline: which jobs it has, whether the check passes, and
// what it posts. No row passes though a guard refuses, unless a label has this commit.
func TestWhatGitLabRuns(t *testing.T) {
	m := newMerges(t)
	deploy, err := ReadTemplate("../../../examples/gitlab/lkeplan.gitlab-ci.yml", "v0.3.0")
	if err != nil {
		t.Fatal(err)
	}
	if !m.template.Jobs["lkeplan"].Interruptible {
		t.Error("a pipeline of an earlier commit goes on")
	}
	const check, both = "lkeplan", "lkeplan lkeplan-comment always"
	tests := []struct {
		pipeline
		refused bool
		label   string // "head" for one with the digits of the commit
		jobs    string
		code    int
		notes   int
	}{
		{pipeline: fromBranch, jobs: both, notes: 1},
		{pipeline: fromBranch, refused: true, jobs: both, code: 3, notes: 1},
		{pipeline: fromBranch, refused: true, label: "lkeplan/allow-0123456789abcdef", jobs: both, code: 3, notes: 1},
		{pipeline: fromBranch, refused: true, label: "lkeplan/allow-", jobs: both, code: 3, notes: 1},
		{pipeline: fromBranch, refused: true, label: "head", jobs: both, notes: 1},
		{pipeline: fromFork, jobs: check},
		{pipeline: fromFork, refused: true, jobs: check, code: 3},
		{pipeline: fromFork, refused: true, label: "head", jobs: check},
		{pipeline: mergedResults, jobs: both, notes: 1},
		{pipeline: mergedResults, refused: true, jobs: both, code: 3, notes: 1},
		{pipeline: mergedResults, refused: true, label: "head", jobs: both, notes: 1},
		{pipeline: mergeTrain, jobs: both, notes: 1},
		{pipeline: mergeTrain, refused: true, jobs: both, code: 3, notes: 1},
		{pipeline: onSchedule, jobs: "lkeplan:snapshot:prod"},
		{pipeline: onDefault, jobs: "lkeplan:apply:prod manual lkeplan:plan:prod lkeplan:snapshot:prod"},
		{pipeline: onBranch, jobs: ""},
	}
	for _, tt := range tests {
		t.Run(strings.Join([]string{string(tt.pipeline), tt.label}, " "), func(t *testing.T) {
			m.t, m.notes = t, nil
			content := clusterFile("prod", "336h")
			if tt.refused {
				content, _, _ = strings.Cut(content, "\npool")
			}
			m.write("clusters/prod/main.lke.hcl", content)
			m.propose(tt.pipeline)
			head := "lkeplan/allow-" + m.git("-C", m.repo, "rev-parse", "HEAD")[:16]
			if tt.label == "head" {
				tt.label = head
			}
			m.variables["CI_MERGE_REQUEST_LABELS"] += "," + tt.label
			jobs := append(m.template.Starts(m.variables), deploy.Starts(m.variables)...)
			if diff := cmp.Diff(tt.jobs, strings.Join(jobs, " ")); diff != "" {
				t.Fatalf("jobs (-want +got):\n%s", diff)
			}
			if !strings.HasPrefix(tt.jobs, check+" ") && tt.jobs != check {
				return // TestTemplatePlansAndApplies runs them
			}
			log := m.job(check, tt.code)
			if tt.jobs == both {
				m.job("lkeplan-comment", 0)
				m.job("lkeplan-comment", 0) // it edits its note
			}
			if len(m.notes) != tt.notes {
				t.Errorf("%d notes, want %d", len(m.notes), tt.notes)
			}
			if tt.refused {
				m.contains(log, "Refused by: max_deleted_pools.", head)
				return
			}
			m.contains(log, `"720h" → "336h"  replaces nodes`)
			if list := m.quality(); len(list) != 1 || list[0].Severity != "major" {
				t.Errorf("code quality says %v", list)
			}
			for _, name := range m.template.Jobs[check].Artifacts.Paths {
				if info, err := os.Stat(filepath.Join(m.work, name)); err != nil || info.Size() == 0 {
					t.Errorf("%s is not there: %v", name, err)
				}
			}
		})
	}
}

func TestMergeRequestWithErrorsHasThemAsCodeQuality(t *testing.T) {
	m := newMerges(t)
	m.write("clusters/prod/main.lke.hcl", clusterFile("prod", "336h")+"\npool \"x\" {\n  wieght = 1\n}\n")
	m.propose(fromBranch)
	m.job("lkeplan", 1)
	if list := m.quality(); len(list) != 2 {
		t.Errorf("code quality says %v", list)
	}
}

// TestMergeRequestOnAShallowCheckoutFails where it deletes a pool and its guard: however
// deep the clone is, nothing passes that was not compared.
func TestMergeRequestOnAShallowCheckoutFails(t *testing.T) {
	m := newMerges(t)
	whole := clusterFile("prod", "720h")
	without, _, _ := strings.Cut(whole, "\npool")
	m.write("clusters/prod/main.lke.hcl", strings.ReplaceAll(without, "max_deleted_pools = 0", "max_deleted_pools = 9"))
	for depth, want := range map[string]struct {
		code int
		says string
	}{
		"1": {1, `main, which CI_MERGE_REQUEST_TARGET_BRANCH_NAME names, is not in this clone; set the variable GIT_DEPTH: "0"`},
		"":  {3, "Refused by: max_deleted_pools."}, // twenty commits
		"0": {3, "Refused by: max_deleted_pools."},
	} {
		m.template.Jobs["lkeplan"].Variables["GIT_DEPTH"] = depth
		m.propose(fromBranch)
		m.contains(m.job("lkeplan", want.code), want.says)
	}
}

func TestTemplateTakesOneVersionAlone(t *testing.T) {
	for _, version := range []string{"", "latest", "v1", "v1.2.3; touch pwned"} {
		if _, err := ReadTemplate("../../../examples/gitlab/lkeplan.gitlab-ci.yml", version); err == nil {
			t.Errorf("it takes %q", version)
		}
	}
}

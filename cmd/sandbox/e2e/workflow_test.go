package e2e

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// deployment is a repository whose workflows are run for the cluster of a
// sandbox.
type deployment struct {
	t                  *testing.T
	repo               string
	origin             string
	kubeconfig, linode string
	runner             *Runner
}

func newDeployment(t *testing.T, s *sandbox) *deployment {
	t.Helper()
	kubeconfig, err := os.ReadFile(s.env["KUBECONFIG"])
	if err != nil {
		t.Fatal(err)
	}
	d := &deployment{t: t, repo: t.TempDir(), origin: t.TempDir(), kubeconfig: s.env["KUBECONFIG"], linode: s.env["LINODE_URL"]}
	d.runner = &Runner{
		Dir: t.TempDir(), Origin: d.origin, Ref: "refs/heads/main", Path: t.TempDir(),
		GitHub: map[string]any{"event_name": "push", "repository": "acme/fleet", "event": map[string]any{
			"repository": map[string]any{"default_branch": "main"}}},
		Secrets:   map[string]any{"KUBECONFIG_READ": string(kubeconfig), "KUBECONFIG_WRITE": string(kubeconfig)},
		Inputs:    map[string]any{"allow": ""},
		Artifacts: map[string]map[string][]byte{},
	}
	if err := installFakeGo(d.runner.Path, bin(t, "lkeplan")); err != nil {
		t.Fatal(err)
	}
	git(t, d.origin, "init", "--quiet", "--bare")
	git(t, d.repo, "init", "--quiet", "--initial-branch=main")
	if err := os.WriteFile(filepath.Join(d.repo, ".git/info/exclude"), []byte(".lkeplan/\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return d
}

// push commits a directory as the cluster's, and pushes it to a reference.
func (d *deployment) push(dir, ref string) {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "main.lke.hcl"))
	if err != nil {
		d.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(d.repo, "clusters/prod"), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.repo, "clusters/prod/main.lke.hcl"), text, 0o644); err != nil {
		d.t.Fatal(err)
	}
	git(d.t, d.repo, "add", "--all")
	git(d.t, d.repo, "commit", "--quiet", "--message", "A change")
	git(d.t, d.repo, "push", "--quiet", "--force", d.origin, "HEAD:"+ref)
}

// job runs a job, and fails the test unless the job fails in that step; "" means that
// it succeeds.
func (d *deployment) job(workflow, name, failing string) Result {
	d.t.Helper()
	w, err := ReadWorkflow(workflow)
	if err != nil {
		d.t.Fatal(err)
	}
	res, err := d.runner.Job(w, name)
	if err != nil {
		d.t.Fatal(err)
	}
	if res.Failed != failing {
		d.t.Fatalf("%s failed in %q, want %q\n%s", name, res.Failed, failing, res.Log)
	}
	if left, _ := filepath.Glob(filepath.Join(res.Temp, "kubeconfig")); len(left) > 0 {
		d.t.Errorf("%s leaves the kubeconfig behind", name)
	}
	return res
}

// plan runs the job that plans, after dropping the last saved plan.
func (d *deployment) plan(failing string) Result {
	d.t.Helper()
	delete(d.runner.Artifacts, "prod.plan")
	return d.job(workflows+"apply.yml", "plan", failing)
}

// TestWorkflowsPlanApplyAndSnapshot runs the workflows of the examples that need a
// cluster: a plan is applied unless it is stale or refused, and a pull request from a
// fork shows how many nodes it replaces.
func TestWorkflowsPlanApplyAndSnapshot(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	d := newDeployment(t, s)

	d.push(pooled(t, "\nguards {\n  max_deleted_pools = 0\n  prune             = \"now\"\n}\n", "web"), "refs/heads/main")
	planned := d.plan("")
	mustContain(t, planned.Summary, "2 to create")
	mustContain(t, d.job(workflows+"apply.yml", "apply", "").Log, "applied 2 objects: 2 created")
	if d.plan(""); !d.job(workflows+"apply.yml", "apply", "").Skipped {
		t.Error("a plan without changes is applied")
	}

	// Nodes, and a pull request that counts them.
	s.applyAll(file(t, "inflate.yaml"))
	s.scale(5)
	s.until("5 pods run", time.Minute, func(s state) bool { return s.running == 5 && s.matched() })
	for range 2 {
		d.job(workflows+"snapshot.yml", "snapshot", "")
	}
	git(t, d.repo, "fetch", "--quiet", d.origin, "lkeplan-snapshots/clusters/prod:snapshot")
	git(t, d.repo, "cat-file", "-e", "snapshot:snapshot.json")
	d.pullRequest(pooled(t, "\nguards {\n  max_deleted_pools = 0\n  prune             = \"now\"\n}\n", "web"))

	// The cluster changes before the approval.
	heavier := pooled(t, "\nguards {\n  max_deleted_pools = 0\n  prune             = \"now\"\n}\n", "web")
	rewrite(t, heavier, "weight       = 10", "weight       = 20")
	git(t, d.repo, "checkout", "--quiet", "main")
	d.push(heavier, "refs/heads/main")
	d.plan("")
	s.kube("", "patch", "nodepool", "web", "--type=merge", "--field-manager=somebody", "-p", `{"spec":{"weight":50}}`)
	mustContain(t, d.job(workflows+"apply.yml", "apply", "Apply").Log, "::error title=Out of date::", "spec.weight is 50")
	s.kube("", "patch", "nodepool", "web", "--type=merge", "--field-manager=lkeplan", "-p", `{"spec":{"weight":10}}`)

	// A guard refuses, and the change is allowed by name.
	d.push(pooled(t, "\nguards {\n  max_deleted_pools = 0\n  prune             = \"now\"\n}\n"), "refs/heads/main")
	refused := d.plan("Plan")
	mustContain(t, refused.Log, "::error title=Refused::", "max_deleted_pools")
	d.runner.Inputs["allow"] = "max_deleted_pools:pool.web max_deleted_nodes:pool.web"
	d.plan("")
	mustContain(t, d.job(workflows+"apply.yml", "apply", "").Log, "1 deleted")
	if left := s.pools(); len(left) > 0 {
		t.Errorf("pools %q are left", left)
	}
	d.refreshCatalogue()
	d.atlantis()
}

// refreshCatalogue runs the workflow that proposes the catalogue three times: it opens a pull request, leaves an open
// one as it is, and does nothing if nothing has changed.
func (d *deployment) refreshCatalogue() {
	d.t.Helper()
	forge := filepath.Join(d.runner.Dir, "forge.json")
	if _, err := NewForge(forge); err != nil {
		d.t.Fatal(err)
	}
	d.runner.Env = append(d.runner.Env, "FORGE="+forge, "LINODE_URL="+d.linode)
	d.runner.GitHub["token"] = "t"
	for _, branch := range []string{"main", "main", "lkeplan-catalog"} {
		d.runner.Ref = "refs/heads/" + branch
		d.job(workflows+"catalog.yml", "catalog", "")
	}
	f, err := OpenForge(forge)
	if err != nil {
		d.t.Fatal(err)
	}
	if len(f.Opened) != 1 || f.Opened[0]["base"] != "main" || f.Opened[0]["head"] != "lkeplan-catalog" {
		d.t.Errorf("opened %v, want one pull request", f.Opened)
	}
	git(d.t, d.origin, "cat-file", "-e", "lkeplan-catalog:lkeplan.catalog")
	d.runner.Ref = "refs/heads/main"
}

// atlantis runs the steps of the example for Atlantis in the directory of the cluster, as Atlantis does.
func (d *deployment) atlantis() {
	d.t.Helper()
	type stage struct {
		Steps []struct {
			Run string `json:"run"`
		} `json:"steps"`
	}
	var config struct {
		Workflows map[string]map[string]stage `json:"workflows"`
	}
	if err := readCI("../../../examples/integrations/repos.yaml", &config); err != nil {
		d.t.Fatal(err)
	}
	git(d.t, d.repo, "checkout", "--quiet", "main")
	d.push(pooled(d.t, "", "web"), "refs/heads/main")
	for _, name := range []string{"plan", "apply"} {
		stage := config.Workflows["lkeplan"][name]
		if len(stage.Steps) == 0 {
			d.t.Fatalf("the workflow has no steps to %s", name)
		}
		for _, step := range stage.Steps {
			env := []string{"PATH=" + filepath.Dir(bin(d.t, "lkeplan")) + ":" + os.Getenv("PATH"), "HOME=" + d.runner.Dir,
				"KUBECONFIG=" + d.kubeconfig, "PLANFILE=" + filepath.Join(d.runner.Dir, "prod.tfplan")}
			log, code, err := bash(filepath.Join(d.repo, "clusters/prod"), env, "-u", step.Run)
			if err != nil || code != 0 {
				d.t.Fatalf("%s exits with %d: %v\n%s", step.Run, code, err, log)
			}
			if name == "apply" {
				mustContain(d.t, log, "applied")
			}
		}
	}
}

// pullRequest runs the check for a fork that changes a node label, and for a merge request.
func (d *deployment) pullRequest(dir string) {
	d.t.Helper()
	rewrite(d.t, dir, "weight       = 10", "labels       = { team = \"web\" }")
	git(d.t, d.repo, "checkout", "--quiet", "-b", "change")
	d.push(dir, "refs/pull/7/merge")
	push, github := d.runner.Ref, d.runner.GitHub
	d.runner.Ref = "refs/pull/7/merge"
	d.runner.GitHub = map[string]any{
		"event_name": "pull_request", "repository": "acme/fleet", "token": "t", "base_ref": "main", "ref": d.runner.Ref,
		"event": map[string]any{"pull_request": map[string]any{"number": 7,
			"head": map[string]any{"repo": map[string]any{"full_name": "mallory/fleet"}}}},
	}
	mustContain(d.t, d.job(check, "lkeplan", "").Summary, "**2 of 2 replaced**")
	d.runner.Ref, d.runner.GitHub = push, github
}

// TestTemplatePlansAndApplies runs the jobs of the template for GitLab that need
// a cluster.
func TestTemplatePlansAndApplies(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	d := newDeployment(t, s)
	template, err := ReadTemplate("../../../examples/gitlab/lkeplan.gitlab-ci.yml", "v0.3.0")
	if err != nil {
		t.Fatal(err)
	}
	template.Path = d.runner.Path
	server := httptest.NewServer(packages())
	defer server.Close()
	job := func(name string, code int, allow string) string {
		t.Helper()
		log, got, err := template.Run("lkeplan:"+name+":prod", d.repo, map[string]string{
			"KUBECONFIG_READ": s.env["KUBECONFIG"], "KUBECONFIG_WRITE": s.env["KUBECONFIG"], "LKEPLAN_ALLOW": allow,
			"CI_API_V4_URL": server.URL, "CI_PROJECT_ID": "3", "CI_JOB_TOKEN": "job",
		})
		if err != nil || got != code {
			t.Fatalf("%s exits with %d, want %d: %v\n%s", name, got, code, err, log)
		}
		return log
	}
	guards := "\nguards {\n  max_deleted_pools = 0\n  prune             = \"now\"\n}\n"
	d.push(pooled(t, guards, "web"), "refs/heads/main")
	mustContain(t, job("plan", 0, ""), "2 to create")
	mustContain(t, job("apply", 0, ""), "applied 2 objects: 2 created")
	s.applyAll(file(t, "inflate.yaml"))
	s.scale(5)
	s.until("5 pods run", time.Minute, func(s state) bool { return s.running == 5 && s.matched() })
	job("snapshot", 0, "")
	labelled := pooled(t, guards, "web")
	rewrite(t, labelled, "weight       = 10", "labels       = { team = \"web\" }")
	git(t, d.repo, "checkout", "--quiet", "-b", "change")
	d.push(labelled, "refs/merge-requests/7/head")
	checked, err := ReadTemplate("../../lkeplan/starter/gitlab.yml", "")
	if err != nil {
		t.Fatal(err)
	}
	checked.Path = d.runner.Path
	log, code, err := checked.Run("lkeplan", d.repo, map[string]string{"CI_API_V4_URL": server.URL, "CI_JOB_TOKEN": "job",
		"CI_MERGE_REQUEST_PROJECT_ID": "3", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"})
	if err != nil || code != 0 {
		t.Fatalf("the check exits with %d: %v\n%s", code, err, log)
	}
	mustContain(t, log, "2 of 2")
	git(t, d.repo, "checkout", "--quiet", "main")
	s.kube("", "patch", "nodepool", "web", "--type=merge", "--field-manager=lkeplan", "-p", `{"spec":{"weight":50}}`)
	mustContain(t, job("apply", 4, ""), "run the pipeline again for a new plan")
	d.push(pooled(t, guards), "refs/heads/main")
	mustContain(t, job("plan", 3, ""), "Refused by: max_deleted_nodes, max_deleted_pools", "LKEPLAN_ALLOW")
	job("plan", 0, "max_deleted_pools:pool.web max_deleted_nodes:pool.web")
	mustContain(t, job("apply", 0, ""), "1 deleted")
}

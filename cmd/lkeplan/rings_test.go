package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/rings"
	"github.com/lkeplan/lkeplan/testdata/golden"
)

// TestRingsOutput: in 80 columns, and as Markdown. The messages and names come from other clusters.
func TestRingsOutput(t *testing.T) {
	at := time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)
	commit := "1f2c3d4a5b6c7d8e9f0a1b2c3d4e5f6a7b8c9d0e"
	shown := ringProgress{NodePlan: "fleet", Commit: commit, Clusters: []rings.Row{
		{Ring: "dev", Cluster: "dev", State: rings.Soaking, Applied: commit, ReadySince: &at,
			Message: "ready for 10m of 30m; proven at 2026-11-27 08:30 UTC at the earliest"},
		{Ring: "rest", Cluster: "eu-1", State: rings.Waiting, Applied: "0a1b2c3d4e5f6a7b8c9d0e1f2c3d4a5b6c7d8e9f",
			Message: "waiting for ring dev since 2026-11-27 08:00 UTC; cluster dev: ready for 10m of 30m; " +
				strings.Repeat("long ", 20)},
		{Ring: "rest", Cluster: "us-1", State: rings.Unknown,
			Message: "the kubeconfig has no context \"us-1\"\n::error::x | <b>@all</b>"},
	}}
	p := diag.Page{Width: 80}
	shown.text(&p)
	golden.File(t, "testdata/nodeplan/rings.txt", []byte(p.String()))
	golden.File(t, "testdata/nodeplan/rings.markdown", []byte(shown.markdown()))
	for line := range strings.Lines(p.String()) {
		if len([]rune(line)) > 81 {
			t.Errorf("more than 80 columns: %s", line)
		}
	}
}

const ringsOfTwo = `cluster {
  name   = "eu-1"
  region = "eu-central"
}

rings {
  ring "dev" {
    clusters = ["dev"]
    soak     = "30m"
  }
  ring "rest" {
    clusters = ["eu-1", "us-1"]
  }
}
`

// TestRingsReadsEachCluster: a cluster without a context, one that is another cluster, and one
// without the NodePlan are not shown as applied.
func TestRingsReadsEachCluster(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.lke.hcl"), []byte(ringsOfTwo), 0o600); err != nil {
		t.Fatal(err)
	}
	commit := strings.Repeat("1f2c3d4a", 5)
	const group = `{"kind": "APIGroup", "apiVersion": "v1", "name": "lkeplan.dev",
		"versions": [{"groupVersion": "lkeplan.dev/v1alpha1", "version": "v1alpha1"}]}`
	answers := map[string]string{
		"/api":              `{"kind": "APIVersions", "versions": ["v1"]}`,
		"/apis":             `{"kind": "APIGroupList", "apiVersion": "v1", "groups": [` + group + `]}`,
		"/apis/lkeplan.dev": group,
		"/apis/lkeplan.dev/v1alpha1": `{"kind": "APIResourceList", "groupVersion": "lkeplan.dev/v1alpha1", "resources": [
			{"name": "nodeplans", "kind": "NodePlan", "namespaced": true, "verbs": ["get", "list"]}]}`,
		"/apis/lkeplan.dev/v1alpha1/namespaces/fleet/nodeplans/prod": fmt.Sprintf(`{"kind": "NodePlan",
			"apiVersion": "lkeplan.dev/v1alpha1", "metadata": {"namespace": "fleet", "name": "prod"}, "status": {
			"lastAppliedRevision": "main@sha1:%[1]s", "lastAttemptedRevision": "main@sha1:%[1]s", "ring": {"cluster": "dev"},
			"conditions": [{"type": "Ready", "status": "True", "reason": "a"}]}}`, commit),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, found := answers[r.URL.Path]
		if !found {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`
		}
		fmt.Fprint(w, answer)
	}))
	defer server.Close()
	contexts := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(contexts, []byte(`{"apiVersion": "v1", "kind": "Config",
		"clusters": [{"name": "c", "cluster": {"server": "`+server.URL+`"}}],
		"contexts": [{"name": "lke1", "context": {"cluster": "c"}}, {"name": "eu-1", "context": {"cluster": "c"}}]}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	lkeplan := func(args ...string) (string, int) {
		var out bytes.Buffer
		env := &flags.Env{Stdin: new(bytes.Buffer), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" },
			Environ: func() []string { return nil }}
		args = append([]string{"rings", "prod", dir, "--kubeconfig", contexts, "-n", "fleet"}, args...)
		code := run(t.Context(), args, env)
		return out.String(), code
	}
	said, code := lkeplan("--contexts", "dev=lke1", "-o", "json")
	var got ringProgress
	if err := json.Unmarshal([]byte(said), &got); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v: %s", code, err, said)
	}
	want := []string{
		"dev dev Working " + commit + " the cluster has applied the revision, and it is not known yet whether its nodes are ready",
		`rest eu-1 Mismatch  its kubeconfig leads to the cluster "dev"`,
		`rest us-1 Unknown  the kubeconfig has no context "us-1"; it has: eu-1, lke1`,
	}
	for i, row := range got.Clusters {
		text := fmt.Sprintf("%s %s %s %s %s", row.Ring, row.Cluster, row.State, row.Applied, row.Message)
		if text != want[i] {
			t.Errorf("got  %s\nwant %s", text, want[i])
		}
	}
	if got.Commit != commit || len(got.Clusters) != 3 {
		t.Errorf("got %+v", got)
	}
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{nil, 0, "NodePlan prod: no cluster reports a revision"},
		{[]string{"--contexts", "dev=lke1", "--commit", strings.Repeat("0", 40)}, 0,
			"the cluster has applied 1f2c3d4a, and not this revision"},
		{[]string{"--contexts", "dev=lke1", "-n", "other"}, 0, "unknown"},
		{[]string{"--commit", "1f2c3d4a"}, 1, "--commit 1f2c3d4a: write all digits of the commit"},
		{[]string{"--contexts", "prod=lke1"}, 1, `--contexts prod=lke1: no ring has the cluster "prod"`},
	} {
		if said, code := lkeplan(tt.args...); code != tt.code || !strings.Contains(said, tt.want) {
			t.Errorf("%s: exit code %d: %s", tt.args, code, said)
		}
	}
	without, _, _ := strings.Cut(ringsOfTwo, "rings")
	if err := os.WriteFile(filepath.Join(dir, "main.lke.hcl"), []byte(without), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, code := lkeplan(); code != 1 || !strings.Contains(said, "declares no rings; name a directory with ") {
		t.Errorf("without rings: exit code %d: %s", code, said)
	}
}

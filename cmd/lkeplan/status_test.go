package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
)

// TestAClusterWithoutCRDs gets one line with what to do.
func TestAClusterWithoutCRDs(t *testing.T) {
	answers := map[string]string{
		"/api":  `{"kind": "APIVersions", "versions": ["v1"]}`,
		"/apis": `{"kind": "APIGroupList", "apiVersion": "v1", "groups": []}`,
		"/api/v1": `{"kind": "APIResourceList", "groupVersion": "v1", "resources": [
			{"name": "nodes", "kind": "Node", "verbs": ["list"]}, {"name": "pods", "kind": "Pod", "namespaced": true, "verbs": ["list"]},
			{"name": "events", "kind": "Event", "namespaced": true, "verbs": ["list"]}]}`,
		"/api/v1/nodes":  `{"kind": "NodeList", "apiVersion": "v1", "items": []}`,
		"/api/v1/pods":   `{"kind": "PodList", "apiVersion": "v1", "items": []}`,
		"/api/v1/events": `{"kind": "EventList", "apiVersion": "v1", "items": []}`,
	}
	kubeconfig := answering(t, answers)
	var stdout bytes.Buffer
	cmd := newStatus(&flags.Env{Stdout: &stdout, Getenv: func(string) string { return "" }})
	cmd.SetArgs([]string{"--kubeconfig", kubeconfig})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.Execute()
	if err == nil || strings.Contains(err.Error(), "\n") || stdout.Len() > 0 ||
		!strings.HasSuffix(err.Error(), "; install the CRDs with: lkeplan crds apply") {
		t.Errorf("%v, and on standard output: %s", err, &stdout)
	}
}

// TestShellCompletesNamesOfObjects like kubectl, and those of pods of the chosen namespace.
func TestShellCompletesNamesOfObjects(t *testing.T) {
	const pools = `{"kind": "NodePoolList", "apiVersion": "karpenter.sh/v1", "items": [{"metadata": {"name": "general"}},
		{"metadata": {"name": "gpu"}}, {"metadata": {"name": "web"}}]}`
	kubeconfig := answering(t, map[string]string{
		"/api":  `{"kind": "APIVersions", "versions": ["v1"]}`,
		"/apis": `{"kind": "APIGroupList", "apiVersion": "v1", "groups": [{"name": "karpenter.sh", "versions": [{"groupVersion": "karpenter.sh/v1", "version": "v1"}]}]}`,
		"/apis/karpenter.sh/v1": `{"kind": "APIResourceList", "groupVersion": "karpenter.sh/v1", "resources": [
			{"name": "nodepools", "kind": "NodePool", "verbs": ["list"]}]}`,
		"/api/v1": `{"kind": "APIResourceList", "groupVersion": "v1", "resources": [
			{"name": "pods", "kind": "Pod", "namespaced": true, "verbs": ["list"]}]}`,
		"/apis/karpenter.sh/v1/nodepools": pools,
		"/api/v1/namespaces/default/pods": `{"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "one"}}]}`,
		"/api/v1/namespaces/shop/pods":    `{"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "web-1"}}]}`,
	})
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"why", "pool", "g"}, "general\ngpu\n:4\n"},
		{[]string{"why", "nodepool.karpenter.sh", "w"}, "web\n:4\n"},
		{[]string{"status", ""}, "general\ngpu\nweb\n:4\n"},
		{[]string{"status", "gpu", ""}, ":4\n"},
		{[]string{"why", "pod", ""}, "one\n:4\n"},
		{[]string{"why", "-n", "shop", "pod", ""}, "web-1\n:4\n"},
		{[]string{"why", "pod", "shop/"}, "shop/web-1\n:4\n"},
		{[]string{"why", "node", ""}, ":4\n"}, // which this server does not have
		{[]string{"why", "service", ""}, ":4\n"},
		{[]string{"status", "--context", ""}, "c\n:4\n"},
		{[]string{"diff", "--base", ""}, "git:\ndir:\nplan:\nsnapshot:\nlive\n:2\n"},
	} {
		var out, errs bytes.Buffer
		env := &env{Stdin: &errs, Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
		args := append([]string{"__complete", tt.args[0], "--kubeconfig", kubeconfig}, tt.args[1:]...)
		if code := run(t.Context(), args, env); code != 0 || out.String() != tt.want {
			t.Errorf("%v: %q, want %q; exit code %d: %s", tt.args, out.String(), tt.want, code, errs.String())
		}
	}
}

// answering is the kubeconfig of an API server that has these answers.
func answering(t *testing.T, answers map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text, known := answers[r.URL.Path]
		if !known {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\n"+
		"contexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

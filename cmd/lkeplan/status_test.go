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

// TestAClusterWithoutCRDs gets one line, which says what to do.
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
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text, known := answers[r.URL.Path]
		if !known {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(text))
	}))
	defer server.Close()
	kubeconfig := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\n"+
		"contexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
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

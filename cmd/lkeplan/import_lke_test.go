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

	"github.com/lkeplan/lkeplan/linode/sim"
)

// TestImportAvoidsNamesOfTheCluster: import --lke reads the names in the cluster of the kubeconfig,
// and reports if they are unknown.
func TestImportAvoidsNamesOfTheCluster(t *testing.T) {
	sim, err := sim.New(sim.Config{ClusterID: 77, Token: "t", ClusterLabel: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	linode := httptest.NewServer(sim)
	defer linode.Close()
	made, err := http.NewRequestWithContext(t.Context(), http.MethodPost, linode.URL+"/v4/lke/clusters/77/pools",
		strings.NewReader(`{"type": "g6-standard-4", "count": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	made.Header.Set("Authorization", "Bearer t")
	made.Header.Set("Content-Type", "application/json")
	if resp, err := linode.Client().Do(made); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	for name, tt := range map[string]struct {
		class        string // of the cluster
		closed       bool
		want, notice string
	}{
		"nothing has the name": {"", false, `node_class "default"`, ""},
		"a class has the name": {`{"metadata": {"name": "default"}, "spec": {"tags": ["team"]}}`, false,
			`node_class "default_2"`, "LinodeNodeClass default is in the cluster with another spec"},
		"the cluster does not answer": {"", true, `node_class "default"`,
			"lkeplan: whether the cluster already has objects with these names is unknown: "},
	} {
		t.Run(name, func(t *testing.T) {
			server := classServer(tt.class)
			defer server.Close()
			kubeconfig := filepath.Join(t.TempDir(), "config")
			text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\n"+
				"contexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", server.URL)
			if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if tt.closed {
				server.Close()
			}
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), []string{"import", "--lke", "--kubeconfig", kubeconfig}, &env{
				Stdout: &stdout, Stderr: &stderr, Getenv: func(key string) string {
					return map[string]string{"LINODE_TOKEN": "t", "LINODE_URL": linode.URL}[key]
				},
			})
			if code != 0 || !strings.Contains(stdout.String(), tt.want) || !strings.Contains(stderr.String(), tt.notice) {
				t.Errorf("exit code %d, want %s and %q in\n%s%s", code, tt.want, tt.notice, &stdout, &stderr)
			}
			if tt.notice == "" && strings.Contains(stderr.String(), "cluster has objects") {
				t.Errorf("all is known, and it says\n%s", &stderr)
			}
		})
	}
}

// classServer is an API server with one LinodeNodeClass, or none.
func classServer(class string) *httptest.Server {
	group := func(name, resource, kind string) (list, resources string) {
		version := fmt.Sprintf(`{"groupVersion": "%s/v1", "version": "v1"}`, name)
		return fmt.Sprintf(`{"name": %q, "versions": [%s], "preferredVersion": %[2]s}`, name, version),
			fmt.Sprintf(`{"kind": "APIResourceList", "groupVersion": "%s/v1", "resources": [{"name": %q, "kind": %q, "verbs": ["list"]}]}`,
				name, resource, kind)
	}
	linode, classes := group("karpenter.k8s.linode", "linodenodeclasses", "LinodeNodeClass")
	karpenter, pools := group("karpenter.sh", "nodepools", "NodePool")
	answers := map[string]string{
		"/api":                          `{"kind": "APIVersions", "versions": ["v1"]}`,
		"/apis":                         fmt.Sprintf(`{"kind": "APIGroupList", "apiVersion": "v1", "groups": [%s, %s]}`, linode, karpenter),
		"/apis/karpenter.k8s.linode":    linode,
		"/apis/karpenter.sh":            karpenter,
		"/apis/karpenter.k8s.linode/v1": classes,
		"/apis/karpenter.sh/v1":         pools,
		"/apis/karpenter.sh/v1/nodepools": `{"kind": "NodePoolList", "apiVersion": "karpenter.sh/v1",
			"items": []}`,
		"/apis/karpenter.k8s.linode/v1/linodenodeclasses": `{"kind": "LinodeNodeClassList",
			"apiVersion": "karpenter.k8s.linode/v1", "items": [` + strings.Replace(class, "{",
			`{"kind": "LinodeNodeClass", "apiVersion": "karpenter.k8s.linode/v1", `, 1) + `]}`,
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text, known := answers[r.URL.Path]
		if !known {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(text))
	}))
}

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCatalogRefreshPinsTheRepository(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		row := map[string]string{
			"/v4/regions": `{"id": "us-ord", "capabilities": ["Linodes", "Kubernetes"]}`,
			"/v4/linode/types": `{"id": "g6-standard-2", "class": "standard", "vcpus": 2, "memory": 4096, "disk": 81920,
				"price": {"hourly": 0.036, "monthly": 24}}`,
			"/v4/regions/availability": "",
		}[r.URL.Path]
		fmt.Fprintf(w, `{"data": [%s], "page": 1, "pages": 1}`, row)
	}))
	defer api.Close()
	root := t.TempDir()
	clusters := filepath.Join(root, "clusters", "dev")
	for _, dir := range []string{filepath.Join(root, ".git"), clusters} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(clusters)
	refresh := func(want string) {
		t.Helper()
		lkeplan(t, 0, "catalog", "refresh", "--linode-url", api.URL)
		raw, err := os.ReadFile(want)
		if err != nil || !strings.Contains(string(raw), "plan g6-standard-2 ") {
			t.Errorf("%s: %v\n%s", want, err, raw)
		}
	}
	refresh(filepath.Join(root, "lkeplan.catalog"))
	nearer := filepath.Join(root, "clusters", "lkeplan.catalog")
	if err := os.WriteFile(nearer, []byte("lkeplan-catalog 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	refresh(nearer)
}

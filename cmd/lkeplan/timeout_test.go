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

// TestRequestTimeout: --request-timeout holds for an API server that accepts a request and answers nothing, or a part.
func TestRequestTimeout(t *testing.T) {
	dir := t.TempDir()
	const config = "cluster {\n  name = \"a\"\n  region = \"us-ord\"\n}\nnode_class \"default\" {}\n" +
		"import {\n  to = node_class.default\n  id = \"default\"\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "a.lke.hcl"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"hangs", "drips"} {
		released := make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if how == "drips" {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"kind":`))
				w.(http.Flusher).Flush()
			}
			select {
			case <-r.Context().Done():
			case <-released:
			}
		}))
		defer server.Close()
		defer close(released)
		for _, args := range [][]string{
			{"status"}, {"why", "node", "x"}, {"snapshot"}, {"simulate", "--workloads", "live", dir}, {"doctor"},
			{"diff", "--base", "live", dir}, {"plan", dir}, {"apply", "--yes", dir}, {"import"},
			{"validate", "--workloads", "live", dir}, {"crds", "apply"}, {"uninstall", "--drain", "--yes"}, {"nodeplan", "get"},
			{"nodeplan", "get", "x"}, {"nodeplan", "history", "x"}, {"nodeplan", "diff", "x", dir}, {"nodeplan", "suspend", "x"},
			{"nodeplan", "approve", "x", "--yes"}, {"nodeplan", "reconcile", "x"},
		} {
			t.Run(fmt.Sprint(how, args), func(t *testing.T) {
				var out bytes.Buffer
				env := &flags.Env{Stdin: new(bytes.Buffer), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" },
					Environ: func() []string { return nil }}
				code := run(t.Context(), append(args, "--kubeconfig", kubeconfig(t, server.URL), "--request-timeout", "50ms"), env)
				if code != 1 || !strings.Contains(out.String(), " within 50ms; ") ||
					!strings.Contains(out.String(), "or wait longer with --request-timeout") {
					t.Errorf("exit code %d: %s", code, &out)
				}
			})
		}
	}
}

// TestInvalidRequestTimeout: a request timeout that is not a duration is an error.
func TestInvalidRequestTimeout(t *testing.T) {
	for _, text := range []string{"-1s", "x", "5"} {
		var out bytes.Buffer
		env := &flags.Env{Stdin: new(bytes.Buffer), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}
		if code := run(t.Context(), []string{"status", "--request-timeout", text}, env); code != 1 ||
			!strings.Contains(out.String(), "write a time such as 30s or 2m") {
			t.Errorf("exit code %d: %s", code, &out)
		}
	}
}

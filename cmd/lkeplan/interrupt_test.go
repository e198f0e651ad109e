package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
)

// TestInterruptEndsCommand: an interrupt ends a command that waits for a cluster without an answer.
func TestInterruptEndsCommand(t *testing.T) {
	const config = "cluster {\n  name = \"a\"\n  region = \"us-ord\"\n}\nnode_class \"default\" {}\n" +
		"import {\n  to = node_class.default\n  id = \"default\"\n}\n"
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.lke.hcl"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"status"}, {"why", "node", "x"}, {"snapshot"}, {"simulate", "--workloads", "live", dir}, {"doctor"},
		{"diff", "--base", "live", dir}, {"plan", dir}, {"apply", "--yes", dir}, {"import"},
		{"crds", "apply"}, {"uninstall", "--drain", "--yes"}, {"nodeplan", "get"}, {"nodeplan", "reconcile", "x"},
	} {
		t.Run(fmt.Sprint(args), func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			released := make(chan struct{})
			var once sync.Once
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				once.Do(interrupt)
				select {
				case <-r.Context().Done():
				case <-released:
				}
			}))
			defer server.Close()
			defer close(released)
			var out bytes.Buffer
			env := &flags.Env{Stdin: new(bytes.Buffer), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" },
				Environ: func() []string { return nil }}
			ended := make(chan int)
			go func() {
				ended <- run(ctx, append(args, "--kubeconfig", kubeconfig(t, server.URL)), env)
			}()
			select {
			case code := <-ended:
				if code != 1 || ctx.Err() == nil {
					t.Errorf("exit code %d, context canceled: %v\n%s", code, ctx.Err() != nil, &out)
				}
			case <-time.After(time.Minute):
				t.Error("it goes on")
			}
		})
	}
}

// kubeconfig writes a kubeconfig for a server.
func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\n"+
		"contexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", server)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

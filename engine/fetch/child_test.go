package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/confine"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// TestMain lets the test's program be the child.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == ChildCommand {
		os.Exit(ChildMain(context.Background(), os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// into returns an empty directory inside a new directory.
func into(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "head")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// gitServer serves a repository with one commit over HTTP.
func gitServer(t *testing.T) (url string) {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "fleet", "clusters"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "fleet", "clusters", "main.lke.hcl"), []byte("cluster {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-qm", "change"}} {
		cmd := exec.Command(program, append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com",
			"-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir = filepath.Join(root, "fleet")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	server := httptest.NewServer(&cgi.Handler{Path: program, Args: []string{"http-backend"},
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + root}})
	t.Cleanup(server.Close)
	return server.URL + "/fleet"
}

func TestChildFetches(t *testing.T) {
	remote := Remote{URL: gitServer(t)}
	commit, err := Child{}.Resolve(t.Context(), remote, lkeplanv1alpha1.GitRef{})
	if err != nil {
		t.Fatal(err)
	}
	dir := into(t)
	if err := (Child{}).Commit(t.Context(), remote, commit, dir); err != nil {
		t.Fatal(err)
	}
	if files, _ := filesIn(t, filepath.Dir(dir)); !cmp.Equal(files, []string{"head/clusters/main.lke.hcl"}) {
		t.Errorf("files %v", files)
	}

	body := packed(t, entry{name: "main.lke.hcl", content: "cluster {}\n"})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(body) }))
	defer server.Close()
	dir = into(t)
	artifact := meta.Artifact{URL: server.URL, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(body))}
	if err := (Child{}).Artifact(t.Context(), artifact, dir); err != nil {
		t.Fatal(err)
	}
	if files, _ := filesIn(t, filepath.Dir(dir)); !cmp.Equal(files, []string{"head/main.lke.hcl"}) {
		t.Errorf("files %v", files)
	}
}

func TestChildReturnsErrors(t *testing.T) {
	remote := Remote{URL: gitServer(t)}
	for _, tt := range []struct {
		remote Remote
		ref    lkeplanv1alpha1.GitRef
		says   string
		login  bool
	}{
		{remote, lkeplanv1alpha1.GitRef{Branch: "nosuch"}, "it has no refs/heads/nosuch", false},
		{Remote{URL: "ssh://127.0.0.1:1/fleet", Login: &Login{}}, lkeplanv1alpha1.GitRef{}, "it has no known_hosts", true},
		{Remote{URL: "http://deploy:hunter2@127.0.0.1:1/fleet"}, lkeplanv1alpha1.GitRef{}, "connection refused", false},
	} {
		_, err := Child{}.Resolve(t.Context(), tt.remote, tt.ref)
		if err == nil || !strings.Contains(err.Error(), tt.says) || IsBadLogin(err) != tt.login ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v, want an error with %q, of the login: %v", err, tt.says, tt.login)
		}
	}
}

// TestEndlessServer takes nothing of the process that asks it: neither one that
// lists references without end, nor one whose pack does not end, nor one that says
// nothing.
func TestEndlessServer(t *testing.T) {
	pkt := func(s string) string { return fmt.Sprintf("%04x%s", len(s)+4, s) }
	const commit = "1111111111111111111111111111111111111111"
	greeting := pkt("# service=git-upload-pack\n") + "0000" + pkt(commit+" HEAD\x00agent=x\n")
	long := string(bytes.Repeat([]byte("a"), 1000))
	endless := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, greeting)
		for i := 0; r.Context().Err() == nil; i++ {
			if _, err := fmt.Fprint(w, pkt(fmt.Sprintf("%s refs/heads/%d%s\n", commit, i, long))); err != nil {
				return
			}
		}
	}
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		limit  time.Duration
		says   string
		err    error
	}{
		"references": {endless, time.Minute, "the answer of the server is too long", nil},
		"silence":    {silent, 500 * time.Millisecond, "deadline", context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(tt.answer)
			defer server.Close()
			ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
			defer cancel()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Child{}.Resolve(ctx, Remote{URL: server.URL + "/x.git"}, lkeplanv1alpha1.GitRef{})
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), tt.says) || tt.err != nil && !errors.Is(err, tt.err) &&
				!errors.Is(err, confine.ErrTimeout) {
				t.Errorf("%v, want an error with %q", err, tt.says)
			}
			// The server of the test writes what the child reads.
			if taken := int64(after.HeapAlloc) - int64(before.HeapAlloc); taken > 64<<20 {
				t.Errorf("it took %d MiB of this process", taken>>20)
			}
		})
	}
}

package e2e

import (
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// git runs git in a repository of the test's.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git",
		append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// repository is a Git repository that is served over HTTP on loopback.
type repository struct {
	t   *testing.T
	dir string // its working tree
	url string
}

// serveGit makes an empty repository and serves it until the test ends.
func serveGit(t *testing.T) *repository {
	t.Helper()
	path, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	git(t, root, "init", "-q", "-b", "main", "fleet")
	server := httptest.NewServer(&cgi.Handler{Path: path, Args: []string{"http-backend"},
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + root}})
	t.Cleanup(server.Close)
	return &repository{t: t, dir: filepath.Join(root, "fleet"), url: server.URL + "/fleet"}
}

// commit writes a file, commits it, and returns the commit.
func (r *repository) commit(name, text string) string {
	r.t.Helper()
	r.write(name, text)
	return r.commitAll()
}

// replace replaces the *.lke.hcl of the root, commits, and returns the commit.
func (r *repository) replace(files map[string]string) string {
	r.t.Helper()
	old, err := filepath.Glob(filepath.Join(r.dir, "*.lke.hcl"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			r.t.Fatal(err)
		}
	}
	for name, text := range files {
		r.write(name, text)
	}
	return r.commitAll()
}

func (r *repository) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repository) commitAll() string {
	r.t.Helper()
	git(r.t, r.dir, "add", "-A")
	git(r.t, r.dir, "commit", "-qm", "change", "--allow-empty")
	return r.head()
}

func (r *repository) head() string {
	r.t.Helper()
	out, err := exec.Command("git", "-C", r.dir, "rev-parse", "HEAD").Output()
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

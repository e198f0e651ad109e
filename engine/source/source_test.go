package source

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func gitRun(t *testing.T, dir string, args ...string) {
	t.Helper()
	args = append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// head is the configuration of the commit that is checked out.
func head(t *testing.T, s *Source) Revision {
	t.Helper()
	r, err := s.At("HEAD")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestARevisionIsTheCommitAndNotTheWorkingTree(t *testing.T) {
	repo := t.TempDir()
	write(t, repo, map[string]string{"clusters/dev/main.lke.hcl": "one", "modules/a/a.lke.hcl": "module"})
	if err := os.Symlink("/etc/passwd", filepath.Join(repo, "clusters/dev/link.lke.hcl")); err != nil {
		t.Fatal(err)
	}
	gitRun(t, repo, "init", "-q")
	gitRun(t, repo, "add", "-A")
	gitRun(t, repo, "commit", "-qm", "one")
	write(t, repo, map[string]string{"clusters/dev/main.lke.hcl": "uncommitted"})

	s, err := Open(filepath.Join(repo, "clusters/dev"))
	if err != nil {
		t.Fatal(err)
	}
	first := head(t, s)
	if first.Dir != "clusters/dev" {
		t.Errorf("Dir = %q, want clusters/dev", first.Dir)
	}
	if got, err := fs.ReadFile(first.FS, "clusters/dev/main.lke.hcl"); err != nil || string(got) != "one" {
		t.Errorf("main.lke.hcl = %q, %v; want the committed content", got, err)
	}
	if _, err := fs.ReadFile(first.FS, "clusters/dev/link.lke.hcl"); err == nil {
		t.Error("a link was followed out of the repository")
	}

	gitRun(t, repo, "commit", "-qam", "two")
	second := head(t, s)
	if second.ID == first.ID {
		t.Error("a new commit did not change the revision")
	}
}

func TestTreeIsAFileSystem(t *testing.T) {
	repo := t.TempDir()
	write(t, repo, map[string]string{"a.lke.hcl": "a", "sub/b.lke.hcl": "b", "sub/deep/c.lke.hcl": "c"})
	gitRun(t, repo, "init", "-q")
	gitRun(t, repo, "add", "-A")
	gitRun(t, repo, "commit", "-qm", "all")
	s, err := Open(repo)
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(head(t, s).FS, "a.lke.hcl", "sub/b.lke.hcl", "sub/deep/c.lke.hcl"); err != nil {
		t.Error(err)
	}
}

func TestAPlainDirectoryHasNoRevisions(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.At("HEAD"); !errors.Is(err, ErrNoRepository) {
		t.Errorf("At: %v, want %v", err, ErrNoRepository)
	}
	if _, err := s.MergeBase(); !errors.Is(err, ErrNoRepository) {
		t.Errorf("MergeBase: %v, want %v", err, ErrNoRepository)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a missing directory was opened")
	}
	file := filepath.Join(t.TempDir(), "file")
	write(t, filepath.Dir(file), map[string]string{"file": ""})
	if _, err := Open(file); err == nil {
		t.Error("a file was opened as a directory")
	}
}

func read(t *testing.T, r Revision, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	got, err := fs.ReadFile(r.FS, "main.lke.hcl")
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func TestMergeBaseIsWhereTheBranchLeftTheTrunk(t *testing.T) {
	repo := t.TempDir()
	gitRun(t, repo, "init", "-q", "-b", "main")
	for _, content := range []string{"one", "two"} {
		write(t, repo, map[string]string{"main.lke.hcl": content})
		gitRun(t, repo, "add", "-A")
		gitRun(t, repo, "commit", "-qm", content)
	}
	s, err := Open(repo)
	if err != nil {
		t.Fatal(err)
	}
	base, err := s.MergeBase()
	if got := read(t, base, err); got != "two" {
		t.Errorf("on the trunk the base is %q, want the checked out commit's two", got)
	}
	gitRun(t, repo, "checkout", "-qb", "change")
	write(t, repo, map[string]string{"main.lke.hcl": "branch"})
	gitRun(t, repo, "commit", "-qam", "branch")
	gitRun(t, repo, "checkout", "-q", "main")
	write(t, repo, map[string]string{"main.lke.hcl": "three"})
	gitRun(t, repo, "commit", "-qam", "three")
	gitRun(t, repo, "checkout", "-q", "change")
	base, err = s.MergeBase()
	if got := read(t, base, err); got != "two" {
		t.Errorf("on a branch the base is %q, want two", got)
	}
	base, err = s.At("main")
	if got := read(t, base, err); got != "three" {
		t.Errorf("main is %q, want three", got)
	}
	if _, err := s.At("nowhere"); err == nil {
		t.Error("a commit that is not there was found")
	}
}

func TestAShallowCloneSaysWhatToDo(t *testing.T) {
	origin, clone := t.TempDir(), filepath.Join(t.TempDir(), "clone")
	gitRun(t, origin, "init", "-q", "-b", "main")
	for _, content := range []string{"one", "two"} {
		write(t, origin, map[string]string{"main.lke.hcl": content})
		gitRun(t, origin, "add", "-A")
		gitRun(t, origin, "commit", "-qm", content)
	}
	gitRun(t, origin, "clone", "-q", "--depth", "1", "file://"+origin, clone)
	s, err := Open(clone)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.At("HEAD~1"); err == nil || !strings.Contains(err.Error(), "fetch-depth: 0") {
		t.Errorf("err = %v, want one that says how to fetch all history", err)
	}
}

package source

import (
	"errors"
	"fmt"
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

func open(t *testing.T, path string) (*Source, error) {
	t.Helper()
	return Open(t.Context(), path, func(string) string { return "" })
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

func TestRevisionIsCommitNotWorkingTree(t *testing.T) {
	repo := t.TempDir()
	write(t, repo, map[string]string{"clusters/dev/main.lke.hcl": "one", "modules/a/a.lke.hcl": "module"})
	if err := os.Symlink("/etc/passwd", filepath.Join(repo, "clusters/dev/link.lke.hcl")); err != nil {
		t.Fatal(err)
	}
	gitRun(t, repo, "init", "-q")
	gitRun(t, repo, "add", "-A")
	gitRun(t, repo, "commit", "-qm", "one")
	write(t, repo, map[string]string{"clusters/dev/main.lke.hcl": "uncommitted"})

	s, err := open(t, filepath.Join(repo, "clusters/dev"))
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

func TestCommitFileSystem(t *testing.T) {
	repo := t.TempDir()
	write(t, repo, map[string]string{"a.lke.hcl": "a", "sub/b.lke.hcl": "b", "sub/deep/c.lke.hcl": "c"})
	gitRun(t, repo, "init", "-q")
	gitRun(t, repo, "add", "-A")
	gitRun(t, repo, "commit", "-qm", "all")
	s, err := open(t, repo)
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(head(t, s).FS, "a.lke.hcl", "sub/b.lke.hcl", "sub/deep/c.lke.hcl"); err != nil {
		t.Error(err)
	}
}

func TestPlainDirectoryHasNoRevisions(t *testing.T) {
	if _, err := open(t, t.TempDir()); !errors.Is(err, ErrNoRepository) {
		t.Errorf("%v, want %v", err, ErrNoRepository)
	}
}

func TestOpenErrors(t *testing.T) {
	if _, err := open(t, filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a missing directory was opened")
	}
	file := filepath.Join(t.TempDir(), "file")
	write(t, filepath.Dir(file), map[string]string{"file": ""})
	if _, err := open(t, file); err == nil {
		t.Error("a file was opened as a directory")
	}
}

// TestRepositoryConfigurationRunsNothing: its configuration and hooks are the author's, who
// may be another user.
func TestRepositoryConfigurationRunsNothing(t *testing.T) {
	dir := t.TempDir()
	origin, clone, pwned := filepath.Join(dir, "origin"), filepath.Join(dir, "clone"), filepath.Join(dir, "pwned")
	gitRun(t, dir, "init", "-q", "-b", "main", origin)
	for _, content := range []string{"one", "two"} {
		write(t, origin, map[string]string{"main.lke.hcl": content})
		gitRun(t, origin, "add", "-A")
		gitRun(t, origin, "commit", "-qm", content)
	}
	gitRun(t, origin, "config", "uploadpack.allowFilter", "true")
	gitRun(t, dir, "clone", "-q", "--filter=blob:none", "file://"+origin, clone)
	evil := filepath.Join(dir, "evil")
	write(t, dir, map[string]string{"evil": fmt.Sprintf("#!/bin/sh\necho \"$0 $*\" >> %s\nexit 1\n", pwned)})
	if err := os.Chmod(evil, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, option := range [][2]string{
		{"core.fsmonitor", evil}, {"core.hooksPath", dir}, {"core.pager", evil}, {"core.sshCommand", evil},
		{"core.gitProxy", evil}, {"core.askPass", evil}, {"core.editor", evil}, {"core.alternateRefsCommand", evil},
		{"credential.helper", evil}, {"diff.external", evil}, {"gpg.program", evil}, {"interactive.diffFilter", evil},
		{"filter.x.smudge", evil}, {"filter.x.process", evil}, {"filter.x.clean", evil}, {"filter.x.required", "true"},
		{"alias.ls-files", "!" + evil}, {"alias.add", "!" + evil}, {"alias.write-tree", "!" + evil}, {"diff.x.textconv", evil}, {"merge.x.driver", evil},
		{"alias.cat-file", "!" + evil}, {"alias.rev-parse", "!" + evil}, {"alias.merge-base", "!" + evil},
		{"protocol.allow", "always"}, {"protocol.ext.allow", "always"}, {"protocol.file.allow", "always"},
		{"remote.origin.uploadpack", evil}, {"pager.cat-file", evil}, {"pager.merge-base", evil},
		{"uploadpack.packObjectsHook", evil}, {"trace2.eventTarget", pwned},
	} {
		gitRun(t, clone, "config", option[0], option[1])
	}
	write(t, clone, map[string]string{".gitattributes": "* filter=x diff=x merge=x\n"})
	for _, url := range []string{origin, "ext::" + evil, "ssh://example.com/x", "git://example.com/x"} {
		gitRun(t, clone, "config", "remote.origin.url", url)
		s, err := open(t, clone)
		if err != nil {
			t.Fatal(err)
		}
		base, err := s.Base()
		if err != nil {
			t.Fatal(err)
		}
		if base, err = base.Unedited(); err != nil {
			t.Fatal(err)
		}
		if _, err := fs.ReadFile(base.FS, "main.lke.hcl"); err == nil || base.Lacking() == nil {
			t.Errorf("%s: what was not fetched was read: %v, %v", url, err, base.Lacking())
		}
	}
	for _, attributes := range []string{"* filter=x\n", "* text=auto eol=crlf ident\n"} {
		write(t, clone, map[string]string{".gitattributes": attributes, "main.lke.hcl": "three\r\n$Id: x$\r\n"})
		work, err := Working(t.Context(), clone)
		if err != nil {
			t.Fatal(err)
		}
		data, err := fs.ReadFile(work, "main.lke.hcl")
		if filtered := strings.Contains(attributes, "filter"); (err != nil) != filtered ||
			!filtered && string(data) != "three\n$Id$\n" {
			t.Errorf("with %q the working tree has %q, %v", attributes, data, err)
		}
	}
	if ran, err := os.ReadFile(pwned); err == nil {
		t.Errorf("the repository has run %s", ran)
	}
}

// TestWorkingTreeFileSystem, without what Git keeps for itself.
func TestWorkingTreeFileSystem(t *testing.T) {
	repo := t.TempDir()
	write(t, repo, map[string]string{"a.lke.hcl": "a\r\n", "sub/b.lke.hcl": "b", "sub/deep/c.lke.hcl": "c"})
	gitRun(t, repo, "init", "-q")
	gitRun(t, repo, "config", "core.autocrlf", "true")
	gitRun(t, repo, "add", "sub")
	work, err := Working(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(work, "a.lke.hcl", "sub/b.lke.hcl", "sub/deep/c.lke.hcl"); err != nil {
		t.Error(err)
	}
	if _, err := fs.Stat(work, ".git"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the working tree has .git: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Working(t.Context(), repo); !errors.Is(err, ErrNoRepository) {
		t.Errorf("without git: %v", err)
	}
}

// TestLinksAreNotFollowed: Flux leaves links out, and a fetch of the controller does not
// have what they lead to.
func TestLinksAreNotFollowed(t *testing.T) {
	repo := t.TempDir()
	write(t, repo, map[string]string{"dir/a.lke.hcl": "a"})
	for name, to := range map[string]string{
		"good": "dir/a.lke.hcl", "dir/up": "../good", "out": "../../etc/passwd", "root": "/etc/passwd", "round": "round", "gone": "none",
	} {
		if err := os.Symlink(to, filepath.Join(repo, name)); err != nil {
			t.Fatal(err)
		}
	}
	gitRun(t, repo, "init", "-q")
	gitRun(t, repo, "add", "-A")
	gitRun(t, repo, "commit", "-qm", "links")
	s, err := open(t, repo)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"good": false, "dir/up": false, "dir/a.lke.hcl": true, "out": false, "root": false, "round": false, "gone": false} {
		if text, err := fs.ReadFile(head(t, s).FS, name); (err == nil && string(text) == "a") != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// TestRepositoryIsKnownByItsFirstCommit: by each full clone, and not by a shallow one.
func TestRepositoryIsKnownByItsFirstCommit(t *testing.T) {
	repos := map[string]string{}
	first := func(at string) string {
		t.Helper()
		s, err := open(t, at)
		if err != nil {
			t.Fatal(err)
		}
		id, err := s.First()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	for _, name := range []string{"a", "b"} {
		repos[name] = t.TempDir()
		gitRun(t, repos[name], "init", "-q", "-b", "main")
		if id := first(repos[name]); id != "" {
			t.Errorf("without a commit it is %q", id)
		}
		for _, message := range []string{"of " + name, "second"} {
			write(t, repos[name], map[string]string{"clusters/dev/main.lke.hcl": message})
			gitRun(t, repos[name], "add", "-A")
			gitRun(t, repos[name], "commit", "-qm", message)
		}
	}
	full, shallow := filepath.Join(t.TempDir(), "full"), filepath.Join(t.TempDir(), "shallow")
	gitRun(t, repos["a"], "clone", "-q", "file://"+repos["a"], full)
	gitRun(t, repos["a"], "clone", "-q", "--depth", "1", "file://"+repos["a"], shallow)
	a := first(filepath.Join(repos["a"], "clusters/dev"))
	if b := first(repos["b"]); len(a) != 12 || a == b || first(full) != a || first(shallow) != "" {
		t.Errorf("a is %q, b %q, the clone %q, the shallow clone %q", a, b, first(full), first(shallow))
	}
}

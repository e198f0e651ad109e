package fetch

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"
	"github.com/google/go-cmp/cmp"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// TestFetchWritesReadableFiles: regular files that are of use. In the place of a link
// is something that cannot be read.
func TestFetchWritesReadableFiles(t *testing.T) {
	main := object.TreeEntry{Name: "main.lke.hcl", Mode: filemode.Regular}
	tests := []struct {
		name         string
		more         object.TreeEntry
		want, barred []string
	}{
		{"a file that is of use, as a program", object.TreeEntry{Name: "teams.yaml", Mode: filemode.Executable}, []string{"main.lke.hcl", "teams.yaml"}, nil},
		{"a file that is of none", object.TreeEntry{Name: "logo.png", Mode: filemode.Regular}, []string{"main.lke.hcl"}, nil},
		{"a link that may be to a directory", object.TreeEntry{Name: "teams", Mode: filemode.Symlink}, []string{"main.lke.hcl"}, []string{"teams"}},
		{"a submodule", object.TreeEntry{Name: "teams", Mode: filemode.Submodule}, []string{"main.lke.hcl"}, []string{"teams"}},
		{"a link", object.TreeEntry{Name: "notes.txt", Mode: filemode.Symlink}, []string{"main.lke.hcl"}, []string{"notes.txt"}},
		{"a link in the place of configuration", object.TreeEntry{Name: "more.lke.hcl", Mode: filemode.Symlink}, []string{"main.lke.hcl"}, []string{"more.lke.hcl"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := writeTree(treeOf(t, "a", main, tt.more), dir); err != nil {
				t.Fatal(err)
			}
			files, barred := filesIn(t, dir)
			if diff := cmp.Diff(tt.want, files); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.barred, barred); diff != "" {
				t.Errorf("barred files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLargeFileBecomesBarrier(t *testing.T) {
	dir, large := t.TempDir(), strings.Repeat("a", maxFile+1)
	if err := writeTree(treeOf(t, large, object.TreeEntry{Name: "pools.lke.hcl", Mode: filemode.Regular}), dir); err != nil {
		t.Fatal(err)
	}
	if files, barred := filesIn(t, dir); len(files) > 0 || !cmp.Equal(barred, []string{"pools.lke.hcl"}) {
		t.Errorf("files %v, barred %v", files, barred)
	}
}

func TestErrorsContainNoPassword(t *testing.T) {
	for _, url := range []string{"http://deploy:hunter2@127.0.0.1:1/fleet", "http://deploy:hunter2@127.0.0.1:1/%zz"} {
		repository, err := NewRepository(url, nil)
		if err == nil {
			_, err = repository.Resolve(t.Context(), lkeplanv1alpha1.GitRef{})
		}
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v", err)
		}
	}
}

// TestRepositoryWithLargeFiles: what is small on its way may be larger than all
// memory. A commit next to it is fetched.
func TestRepositoryWithLargeFiles(t *testing.T) {
	from := t.TempDir()
	repo, err := git.PlainInit(from, false)
	if err != nil {
		t.Fatal(err)
	}
	worktree, err := repo.Worktree()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []struct {
		name string
		size int
		err  string
	}{{"main.lke.hcl", 100, ""}, {"zeros.bin", maxObject + 1, "more than 100 MiB"}} {
		if err := os.WriteFile(filepath.Join(from, file.name), make([]byte, file.size), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := worktree.Add(file.name); err != nil {
			t.Fatal(err)
		}
		commit, err := worktree.Commit(file.name, &git.CommitOptions{Author: &object.Signature{Name: "a", Email: "a@b"}})
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), "head")
		if err := os.Mkdir(to, 0o700); err != nil {
			t.Fatal(err)
		}
		err = Repository{URL: from}.Fetch(t.Context(), Commit{plumbing.Master, commit}, to)
		switch {
		case file.err != "" && (err == nil || !strings.Contains(err.Error(), file.err)):
			t.Errorf("with %s: %v", file.name, err)
		case file.err == "" && err != nil:
			t.Error(err)
		case file.err == "":
			if files, _ := filesIn(t, to); !cmp.Equal(files, []string{file.name}) {
				t.Errorf("files %v, want %s", files, file.name)
			}
		}
	}
}

// TestNestedTreesExceedLimit: ten trees of ten trees each, and so on, are
// billions of entries in some hundred bytes.
func TestNestedTreesExceedLimit(t *testing.T) {
	for name, leaf := range map[string][]object.TreeEntry{
		"with files":                    {{Name: "main.hcl", Mode: filemode.Regular}},
		"with files that are of no use": {{Name: "logo.png", Mode: filemode.Regular}},
		"with nothing in it":            nil,
	} {
		t.Run(name, func(t *testing.T) {
			repo, err := git.Init(memory.NewStorage(), nil)
			if err != nil {
				t.Fatal(err)
			}
			empty := &plumbing.MemoryObject{}
			empty.SetType(plumbing.BlobObject)
			content, err := repo.Storer.SetEncodedObject(empty)
			if err != nil {
				t.Fatal(err)
			}
			for i := range leaf {
				leaf[i].Hash = content
			}
			tree := storeTree(t, repo, &object.Tree{Entries: leaf})
			for range 10 {
				above := &object.Tree{}
				for i := range 10 {
					above.Entries = append(above.Entries, object.TreeEntry{Name: fmt.Sprint(i), Mode: filemode.Dir, Hash: tree.Hash})
				}
				tree = storeTree(t, repo, above)
			}
			if err := writeTree(tree, t.TempDir()); err == nil || !strings.Contains(err.Error(), "more than 100000 files") {
				t.Errorf("%v", err)
			}
		})
	}
}

// treeOf stores a tree, all of whose entries have the same text.
func treeOf(t *testing.T, text string, entries ...object.TreeEntry) *object.Tree {
	t.Helper()
	repo, err := git.Init(memory.NewStorage(), nil)
	if err != nil {
		t.Fatal(err)
	}
	blob := repo.Storer.NewEncodedObject()
	blob.SetType(plumbing.BlobObject)
	w, err := blob.Writer()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := repo.Storer.SetEncodedObject(blob)
	if err != nil {
		t.Fatal(err)
	}
	tree := &object.Tree{}
	for _, e := range entries {
		e.Hash = content
		tree.Entries = append(tree.Entries, e)
	}
	return storeTree(t, repo, tree)
}

func storeTree(t *testing.T, repo *git.Repository, tree *object.Tree) *object.Tree {
	t.Helper()
	sort.Sort(object.TreeEntrySorter(tree.Entries))
	stored := repo.Storer.NewEncodedObject()
	if err := tree.Encode(stored); err != nil {
		t.Fatal(err)
	}
	at, err := repo.Storer.SetEncodedObject(stored)
	if err != nil {
		t.Fatal(err)
	}
	found, err := repo.TreeObject(at)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestDeltaResultSize is not seen from its own length: it says which parts of
// another object to take, as often as it likes.
func TestDeltaResultSize(t *testing.T) {
	for text, want := range map[string]int64{"\x05\x07rest": 7, "\x80\x01\x80\x80\x80\x80\x01rest": 256 << 20, "\x05": 0, "": 0, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01": 0} {
		var delta measured
		for _, b := range []byte(text) {
			if _, err := delta.Write([]byte{b}); err != nil {
				t.Fatal(err)
			}
		}
		if got := delta.resultSize(); got != want {
			t.Errorf("%q makes %d bytes, want %d", text, got, want)
		}
	}
}

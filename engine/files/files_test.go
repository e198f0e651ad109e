package files_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/files"
)

func TestReplaceKeepsMode(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "run.sh")
	if err := os.WriteFile(name, []byte("old"), 0o750); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"new", "newer, and longer"} {
		if err := files.Replace(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if err != nil || string(got) != text {
			t.Errorf("the file holds %q, %v", got, err)
		}
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	if diff := cmp.Diff([]string{"run.sh"}, names(t, dir)); diff != "" {
		t.Errorf("files (-want +got)\n%s", diff)
	}
}

// TestReplaceWritesThrough: what is not a regular file stays what it is.
func TestReplaceWritesThrough(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	read, written, err := os.Pipe()
	if err := errors.Join(err, os.WriteFile(at("shared"), []byte("longer than new"), 0o644), os.Symlink("shared", at("link")),
		os.Symlink("later", at("dangling")), syscall.Mkfifo(at("fifo"), 0o644)); err != nil {
		t.Fatal(err)
	}
	fifo, err := os.OpenFile(at("fifo"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]io.Reader{at("link"): nil, at("dangling"): nil, at("fifo"): fifo,
		fmt.Sprintf("/dev/fd/%d", written.Fd()): read}
	if syscall.Mknod(at("null"), syscall.S_IFCHR|0o666, 1<<8|3) == nil { // root can make devices
		names[at("null")] = strings.NewReader("new")
	}
	for name, reader := range names {
		before, err := os.Lstat(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := files.Replace(name, []byte("new")); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if after, err := os.Lstat(name); err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s was %v and is %v, %v", name, before.Mode(), after.Mode(), err)
		}
		if reader == nil {
			file, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			reader = file
		}
		got := make([]byte, 20)
		if n, err := reader.Read(got); err != nil || string(got[:n]) != "new" {
			t.Errorf("%s has %q, %v", name, got[:n], err)
		}
	}
}

// TestErrorsNameFileOnce, and what there was stays.
func TestErrorsNameFileOnce(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := files.Create(there, []byte("old")); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing", "file")
	for _, tt := range []struct {
		err  error
		want error
		text string
	}{
		{files.Create(there, nil), fs.ErrExist, "write " + there + ": file exists"},
		{files.Replace(missing, nil), fs.ErrNotExist, "write " + missing + ": no such file or directory"},
		{files.Append(missing, nil), fs.ErrNotExist, "write " + missing + ": no such file or directory"},
	} {
		if !errors.Is(tt.err, tt.want) || tt.err.Error() != tt.text {
			t.Errorf("got %v, want %s", tt.err, tt.text)
		}
	}
	if err := files.Append(there, []byte(" and new")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(there); err != nil || string(got) != "old and new" {
		t.Errorf("the file holds %q, %v", got, err)
	}
}

func TestReplaceInStaysInRoot(t *testing.T) {
	outside, dir := filepath.Join(t.TempDir(), "precious"), t.TempDir()
	if err := errors.Join(os.WriteFile(outside, []byte("old"), 0o600), os.Symlink(outside, filepath.Join(dir, "a.yaml"))); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := files.ReplaceIn(root, "a.yaml", []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(outside); string(got) != "old" {
		t.Errorf("the file outside holds %q", got)
	}
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		list = append(list, entry.Name())
	}
	return list
}

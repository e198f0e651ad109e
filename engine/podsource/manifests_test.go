package podsource

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main}]}\n"

// TestDirectoryReadsRegularFiles: opening a pipe without a writer would block forever.
func TestDirectoryReadsRegularFiles(t *testing.T) {
	dir := t.TempDir()
	for _, problem := range []error{
		os.WriteFile(filepath.Join(dir, "web.yaml"), []byte(pod), 0o600),
		syscall.Mkfifo(filepath.Join(dir, "pipe.yaml"), 0o600),
		os.Mkdir(filepath.Join(dir, "dir.yaml"), 0o700),
		os.Symlink(filepath.Join(dir, "dir.yaml"), filepath.Join(dir, "link.yaml")),
		os.Symlink("/dev/zero", filepath.Join(dir, "zero.json")),
		os.Symlink("web.yaml", filepath.Join(dir, "again.txt")),
	} {
		if problem != nil {
			t.Fatal(problem)
		}
	}
	var p Pods
	objects, err := p.manifests(dir, nil)
	if err != nil || len(objects) != 1 || objects[0].Document != 1 {
		t.Fatalf("%v, %v", objects, err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	want := fmt.Sprintf("[Skipped %s, %s, %s: it is not a regular file.]", in("link.yaml"), in("pipe.yaml"), in("zero.json"))
	if got := fmt.Sprint(p.Notes); got != want || len(p.Missing) > 0 {
		t.Errorf("notes %s, missing: %s", got, p.Missing)
	}
	if _, err := p.manifests("/dev/zero", nil); err == nil || err.Error() != "it is not a file" {
		t.Errorf("a device: %v", err)
	}
}

// TestLinkedDirectoryIsRead: a link to a directory is read if --workloads names it.
func TestLinkedDirectoryIsRead(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "current")
	if err := os.WriteFile(filepath.Join(dir, "web.yaml"), []byte(pod), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	var p Pods
	objects, err := p.manifests(link, nil)
	if err != nil || len(objects) != 1 || len(p.Notes) > 0 || objects[0].File != filepath.Join(link, "web.yaml") {
		t.Errorf("%v, %q, %v", objects, p.Notes, err)
	}
}

// TestNamedPipeIsRead: a shell creates a pipe for the output of a command.
func TestNamedPipeIsRead(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	if _, err := write.WriteString(pod); err != nil {
		t.Fatal(err)
	}
	write.Close()
	name := fmt.Sprintf("/dev/fd/%d", read.Fd())
	if objects, err := new(Pods).manifests(name, nil); err != nil || len(objects) != 1 {
		t.Errorf("%v, %v", objects, err)
	}
}

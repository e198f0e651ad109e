// Package golden compares what tests get with files that hold what they want.
// Every such file is rewritten in the same way: go test ./the/package -update.
// It is used by tests only, and knows nothing of what they test.
package golden

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// update is the one flag of all golden files.
var update = flag.Bool("update", false, "rewrite golden files with what comes out")

// Updating reports whether golden files are to be rewritten.
func Updating() bool { return *update }

// Archives runs each archive (*.txtar) of a directory: run gets its files, except those
// named want.*, and returns what the latter should hold, by name. A name that
// is returned and not in the archive is a failure, unless it is empty.
func Archives(t *testing.T, dir string, run func(files fstest.MapFS) map[string]string) {
	archives, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives in %s: %v", dir, err)
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			input, want := split(archive)
			got := run(input)
			if *update {
				rewrite(t, path, archive, got)
				return
			}
			for name := range got {
				if _, ok := want[name]; !ok && got[name] == "" {
					delete(got, name)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// File compares what came out with a file.
func File(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		replace(t, path, got)
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what came out; -update rewrites it (-want +got)\n%s", path, diff)
	}
}

// replace writes a file unless it has these bytes already.
func replace(t *testing.T, path string, data []byte) {
	t.Helper()
	if before, err := os.ReadFile(path); err == nil && bytes.Equal(before, data) {
		return
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func split(archive *txtar.Archive) (input fstest.MapFS, want map[string]string) {
	input, want = fstest.MapFS{}, map[string]string{}
	for _, f := range archive.Files {
		if strings.HasPrefix(f.Name, "want.") {
			want[f.Name] = string(f.Data)
		} else {
			input[f.Name] = &fstest.MapFile{Data: f.Data}
		}
	}
	return input, want
}

// rewrite replaces the expectations of an archive and keeps the rest.
func rewrite(t *testing.T, path string, archive *txtar.Archive, got map[string]string) {
	files := archive.Files
	archive.Files = nil
	for _, f := range files {
		if !strings.HasPrefix(f.Name, "want.") {
			archive.Files = append(archive.Files, f)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if got[name] != "" {
			archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(got[name])})
		}
	}
	replace(t, path, txtar.Format(archive))
}

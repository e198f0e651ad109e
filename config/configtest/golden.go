package configtest

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

// Golden runs each archive of a directory: run gets its files, except those
// named want.*, and returns what the latter should hold, by name. A name that
// is returned and not in the archive is a failure, unless it is empty.
func Golden(t *testing.T, dir string, run func(files fstest.MapFS) map[string]string) {
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
	before, _ := os.ReadFile(path)
	if after := txtar.Format(archive); !bytes.Equal(before, after) {
		if err := os.WriteFile(path, after, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Package configtest has what several tests of the language share: documents with expectations, and
// CPU time. Only tests import it.
package configtest

import (
	"bufio"
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"
)

// Compile is the function under test: it compiles the root of a file system.
type Compile func(files fstest.MapFS) hcl.Diagnostics

// Bad compiles each document of a directory and compares the diagnostics with those that the document
// expects: a comment at the end of the line with the error,
//
//	weight = "heavy" # want: Wrong type of value: The argument weight takes
//
// with the beginning of the message: summary and detail. Several messages on one line are separated by
// " && ". Messages without a place belong to line 1.
//
// A document is compiled together with base.lke.hcl of the same directory, which contains the required
// blocks, unless the document starts with "# only". All documents can use the subdirectories.
func Bad(t *testing.T, dir string, compile Compile) {
	base, err := os.ReadFile(filepath.Join(dir, "base.lke.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	documents, err := filepath.Glob(filepath.Join(dir, "*.lke.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	below := belowDirectory(t, dir)
	for _, path := range documents {
		name := filepath.Base(path)
		if name == "base.lke.hcl" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files := maps.Clone(below)
			files[name] = &fstest.MapFile{Data: src}
			if !bytes.HasPrefix(src, []byte("# only")) {
				files["base.lke.hcl"] = &fstest.MapFile{Data: base}
			}
			compare(t, wanted(src), compile(files), name)
		})
	}
}

// belowDirectory reads the files in the subdirectories of a directory.
func belowDirectory(t *testing.T, dir string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(name, "/") {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// wanted returns the expectations of a document by line.
func wanted(src []byte) map[int][]string {
	want := map[int][]string{}
	lines := bufio.NewScanner(bytes.NewReader(src))
	for number := 1; lines.Scan(); number++ {
		if _, messages, ok := strings.Cut(lines.Text(), "# want: "); ok {
			want[number] = strings.Split(messages, " && ")
		}
	}
	return want
}

// wellFormed matches well-formed messages: a summary without a full stop, and a detail in full
// sentences.
var wellFormed = regexp.MustCompile(`(?s)^[A-Z][^.:]*: .*[.?!]$`)

func compare(t *testing.T, want map[int][]string, got hcl.Diagnostics, name string) {
	t.Helper()
	if len(want) == 0 {
		t.Error("no expectations: write # want: at the end of a line")
	}
	for _, d := range got {
		line := 1
		if d.Subject != nil {
			line = d.Subject.Start.Line
			if d.Subject.Filename != name {
				t.Errorf("unexpected, in %s: %s: %s", d.Subject.Filename, d.Summary, d.Detail)
				continue
			}
		}
		message := d.Summary + ": " + d.Detail
		if !wellFormed.MatchString(message) {
			t.Errorf("the summary must be a phrase, and the detail sentences: %s", message)
		}
		i := slices.IndexFunc(want[line], func(w string) bool { return strings.HasPrefix(message, w) })
		if i < 0 {
			t.Errorf("unexpected, on line %d: %s", line, message)
			continue
		}
		want[line] = slices.Delete(want[line], i, i+1)
	}
	for line, messages := range want {
		for _, message := range messages {
			t.Errorf("missing, on line %d: %s", line, message)
		}
	}
}

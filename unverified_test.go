package lkeplan_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUnverifiedIsListed compares linode/unverified.md with the comments that
// begin with "Unverified:".
func TestUnverifiedIsListed(t *testing.T) {
	const list = "linode/unverified.md"
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\|[^|]*\\| `([^`]+)` \\|").FindAllSubmatch(text, -1) {
		listed = append(listed, string(row[1]))
	}
	slices.Sort(listed)
	if d := cmp.Diff(slices.Compact(listed), marked(t)); d != "" {
		t.Errorf("files that are listed in %s, and files with the mark (-listed +marked)\n%s", list, d)
	}
}

// marked returns the files of the repository that have the mark in a comment.
func marked(t *testing.T) (files []string) {
	t.Helper()
	mark := regexp.MustCompile(`(?m)^\s*(//|#)[^"\n]*\bUnverified: `)
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "bin"):
			return fs.SkipDir
		case !entry.Type().IsRegular() || filepath.Ext(path) == ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && mark.Match(text) && !bytes.Contains(text, []byte{0}) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

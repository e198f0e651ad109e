package lkeplan_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLKE2026TableNamesExistingCode: each test, file and fault that linode/lke-2026.md names in backquotes is in the
// code, so that no row names a proof that is not there.
func TestLKE2026TableNamesExistingCode(t *testing.T) {
	const table = "linode/lke-2026.md"
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	code := allGo(t)
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "|") || len(cells) < 2 || !regexp.MustCompile(`^ *\d+`).MatchString(cells[0]) {
			continue
		}
		if len(cells) != 7 {
			t.Errorf("a row of %s has %d cells, want 7: %s", table, len(cells), line)
			continue
		}
		rows++
		for i, cell := range cells[4:] { // fault, test, mend
			names := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1)
			if i == 1 && len(names) == 0 && !strings.Contains(cell, "left") {
				t.Errorf("a row names no test and does not say that it is left: %s", line)
			}
			for _, name := range names {
				if !exists(code, name[1]) {
					t.Errorf("%s names %s, which does not exist", table, name[1])
				}
			}
		}
	}
	if rows == 0 {
		t.Errorf("%s has no rows", table)
	}
}

// exists says whether a name is a test, a file or a name in the code.
func exists(code, name string) bool {
	if strings.HasPrefix(name, "Test") {
		return strings.Contains(code, "func "+name+"(")
	}
	if _, err := os.Stat(name); err == nil {
		return true
	}
	return strings.Contains(code, name)
}

// allGo returns the text of all Go files but this one.
func allGo(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || path == "lke2026_test.go" {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

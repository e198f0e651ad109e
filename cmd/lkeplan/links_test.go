package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link     = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced   = regexp.MustCompile("(?ms)^```.*?^```$")
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// TestLinksResolve: each link in a document to a file of the repository leads to an existing
// file and heading.
func TestLinksResolve(t *testing.T) {
	const repository = "../.."
	list, err := exec.Command("git", "-C", repository, "ls-files", "-z", "--", "*.md").Output()
	if err != nil {
		t.Fatalf("list the files of the repository: %v", err)
	}
	links := 0
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		for _, m := range link.FindAllStringSubmatch(document(t, filepath.Join(repository, name)), -1) {
			target, anchor, anchored := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			links++
			path := filepath.Join(repository, name)
			if target != "" {
				path = filepath.Join(filepath.Dir(path), target)
			}
			info, err := os.Stat(path)
			switch {
			case err != nil:
				t.Errorf("%s: %s does not exist", name, m[1])
			case anchored && info.IsDir():
				t.Errorf("%s: %s names a heading of a directory", name, m[1])
			case anchored && !headings(document(t, path))[anchor]:
				t.Errorf("%s: %s: unknown heading", name, m[1])
			}
		}
	}
	if links < 100 {
		t.Errorf("only %d links were found", links)
	}
}

// TestNamedTestsExist: each test that a document names exists.
func TestNamedTestsExist(t *testing.T) {
	const repository = "../.."
	out, err := exec.Command("git", "-C", repository, "grep", "-hoE", `^func (Test|Benchmark)\w+`, "--", "*_test.go").Output()
	if err != nil {
		t.Fatalf("list the tests of the repository: %v", err)
	}
	tests := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		tests[strings.TrimSpace(strings.TrimPrefix(line, "func "))] = true
	}
	list, err := exec.Command("git", "-C", repository, "grep", "-oE", "`(Test|Benchmark)[A-Z]\\w+`", "--", "*.md").Output()
	if err != nil {
		t.Fatalf("list the tests that documents name: %v", err)
	}
	for line := range strings.Lines(string(list)) {
		name, test, _ := strings.Cut(strings.TrimSpace(line), ":")
		if !tests[strings.Trim(test, "`")] {
			t.Errorf("%s names %s, which does not exist", name, test)
		}
	}
}

// document is the text of a document without its code blocks.
func document(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fenced.ReplaceAllString(string(text), "")
}

// headings are the anchors of a document's headings, as GitHub makes them.
func headings(text string) map[string]bool {
	anchors := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		anchor := noAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), "")
		anchors[strings.ReplaceAll(anchor, " ", "-")] = true
	}
	return anchors
}

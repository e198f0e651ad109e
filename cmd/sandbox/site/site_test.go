package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var reference = regexp.MustCompile(`(?:href|src)="([^"]*)"`)

// TestLinksOfTheSiteResolve: each page is found, its links lead to pages and headings that exist, and nothing
// is loaded from elsewhere.
func TestLinksOfTheSiteResolve(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	if err := build("../../..", dir); err != nil {
		t.Fatal(err)
	}
	pages := 0
	err := filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".html" {
			return err
		}
		pages++
		for _, m := range reference.FindAllStringSubmatch(content(t, name), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.HasPrefix(m[0], "href") && strings.Contains(target, "://") || target == "data:," {
				continue
			}
			path := name
			if target != "" {
				path = filepath.Join(filepath.Dir(name), target)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: %s is not there", name, m[1])
			} else if anchor != "" && !strings.Contains(content(t, path), `id="`+anchor+`"`) {
				t.Errorf("%s: %s: there is no such heading", name, m[1])
			}
		}
		return nil
	})
	if err != nil || pages < 50 {
		t.Errorf("%d pages, %v", pages, err)
	}
	rule := content(t, filepath.Join(dir, "rules/bad-schedule.html"))
	if !strings.Contains(rule, "cron expression") || !strings.Contains(rule, "<details open><summary>Reference") {
		t.Errorf("the page of a rule is\n%s", rule)
	}
	if guide := content(t, filepath.Join(dir, "examples/gpu/index.html")); strings.Contains(guide, "in a sandbox -->") {
		t.Error("comments are shown")
	}
}

func content(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

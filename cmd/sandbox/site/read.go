package main

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// site is what is rendered, by the paths of the repository.
type site struct {
	repository string
	tracked    []string          // all files of the repository
	documents  map[string]string // Markdown
	groups     []group
}

// group is a part of the navigation.
type group struct {
	Title string
	Pages []string // documents; those of a pattern are in the order of their names
}

// groups are the navigation. Guides are those of examples/README.md, in its order.
var groups = []group{
	{"Begin", []string{"README.md"}},
	{"Guides", []string{"examples/README.md"}},
	{"Reference", []string{"cmd/lkeplan/README.md", "cmd/lkeplan/COMMANDS.md", "schemas/reference.md", "schemas/nodeplan.md", "rules/README.md"}},
	{"In the cluster", []string{
		"kube/chart/README.md", "kube/chart-crds/README.md", "kube/deploy/README.md", "kube/observability/*.md",
		"kube/observability/runbooks/*.md",
	}},
	{"How it works", []string{"linode/README.md", "linode/unverified.md", "cmd/sandbox/README.md"}},
	{"Project", []string{"SECURITY.md", "CHANGELOG.md", "CONTRIBUTING.md"}},
}

// read collects the documents of a repository.
func read(repository string) (*site, error) {
	list, err := exec.Command("git", "-C", repository, "ls-files", "-z").Output()
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", repository, err)
	}
	tracked := strings.Split(strings.TrimRight(string(list), "\x00"), "\x00")
	s := &site{repository: repository, tracked: tracked, documents: map[string]string{}}
	for _, name := range s.tracked {
		if path.Ext(name) != ".md" || strings.Contains(name, "testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil {
			return nil, err
		}
		s.documents[name] = string(text)
	}
	if err := s.splitRules(); err != nil {
		return nil, err
	}
	for _, g := range groups {
		pages := s.matching(g.Pages)
		if g.Title == "Guides" {
			pages = append(pages, s.guides()...)
		}
		if len(pages) > 0 {
			s.groups = append(s.groups, group{g.Title, pages})
		}
	}
	return s, nil
}

// matching returns the documents that patterns name.
func (s *site) matching(patterns []string) (pages []string) {
	for _, pattern := range patterns {
		var found []string
		for name := range s.documents {
			if ok, _ := path.Match(pattern, name); ok { // the patterns are well formed
				found = append(found, name)
			}
		}
		slices.Sort(found)
		pages = append(pages, found...)
	}
	return pages
}

// guides are the READMEs that examples/README.md links, in its order.
func (s *site) guides() (pages []string) {
	for _, part := range strings.Split(s.documents["examples/README.md"], "](")[1:] {
		target, _, _ := strings.Cut(part, ")")
		name := path.Join("examples", target, "README.md")
		if _, ok := s.documents[name]; ok && !slices.Contains(pages, name) {
			pages = append(pages, name)
		}
	}
	return pages
}

// title is the first heading of a document.
func title(text string) string {
	for line := range strings.Lines(text) {
		if heading, ok := strings.CutPrefix(line, "# "); ok {
			return strings.ReplaceAll(strings.TrimSpace(heading), "`", "")
		}
	}
	return ""
}

// pageOf is where a document or a directory is rendered to.
func pageOf(name string) string {
	if base, ok := strings.CutSuffix(name, "README.md"); ok {
		return base + "index.html"
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}

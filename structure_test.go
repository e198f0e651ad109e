package lkeplan_test

import (
	"bytes"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ours are the packages of the main module that have code, by their path in it.
func ours(t *testing.T) map[string]ourPackage {
	t.Helper()
	all := map[string]ourPackage{}
	packages := packagesOf(t, ".")
	for path, p := range packages {
		if p.DepOnly || len(p.GoFiles) == 0 {
			continue
		}
		name := strings.TrimPrefix(path, module)
		one := ourPackage{command: p.Name == "main"}
		for _, imported := range p.Imports {
			one.imports = append(one.imports, strings.TrimPrefix(imported, module))
		}
		for _, file := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(name, file))
			if err != nil {
				t.Fatal(err)
			}
			one.lines += bytes.Count(text, []byte("\n"))
			parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if parsed.Doc != nil {
				one.doc += strings.Join(strings.Fields(parsed.Doc.Text()), " ")
			}
		}
		all[name] = one
	}
	return all
}

type ourPackage struct {
	command bool
	lines   int
	doc     string // the package comment, in one line
	imports []string
}

// folderOf is the folder of a package that has a subject: cmd/lkeplan, config, engine/plan, linode/lke.
func folderOf(pkg string) string {
	parts := strings.Split(pkg, "/")
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// TestNoFolderImportsAFolderThatImportsIt: of two folders, one is above the other. A package is in the folder of its
// subject, so that engine/a/b counts as engine/a.
func TestNoFolderImportsAFolderThatImportsIt(t *testing.T) {
	packages := ours(t)
	imports := map[string]map[string]string{} // from, to, and an example
	for name, p := range packages {
		from := folderOf(name)
		for _, imported := range p.imports {
			if _, mine := packages[imported]; !mine || folderOf(imported) == from {
				continue
			}
			if imports[from] == nil {
				imports[from] = map[string]string{}
			}
			imports[from][folderOf(imported)] = name + " imports " + imported
		}
	}
	var reach func(from, to string, seen map[string]bool) []string
	reach = func(from, to string, seen map[string]bool) []string {
		for _, next := range slices.Sorted(maps.Keys(imports[from])) {
			if next == to {
				return []string{imports[from][next]}
			}
			if !seen[next] {
				seen[next] = true
				if way := reach(next, to, seen); way != nil {
					return append([]string{imports[from][next]}, way...)
				}
			}
		}
		return nil
	}
	for _, folder := range slices.Sorted(maps.Keys(imports)) {
		if way := reach(folder, folder, map[string]bool{}); way != nil {
			t.Errorf("the folder %s imports itself:\n  %s", folder, strings.Join(way, "\n  "))
		}
	}
}

// smallPackage is from how many lines on a package with one importer needs no reason to be one.
const smallPackage = 300

// reasonToBeOne is how the comment of a small package starts its reason to be one.
var reasonToBeOne = regexp.MustCompile(`(?i)\ba (separate package|package apart)\b`)

// TestSmallPackagesAreJustified: else it belongs to its importer.
func TestSmallPackagesAreJustified(t *testing.T) {
	packages := ours(t)
	importers := map[string][]string{}
	for name, p := range packages {
		for _, imported := range p.imports {
			importers[imported] = append(importers[imported], name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		p := packages[name]
		if !p.command && p.lines < smallPackage && len(importers[name]) == 1 && !reasonToBeOne.MatchString(p.doc) {
			t.Errorf("%s has %d lines and is imported by %s only: merge them, or explain in its comment why it is a separate package",
				name, p.lines, importers[name][0])
		}
	}
}

// unknowns are what package comments say that a package does not know, and what it then does not import.
var unknowns = map[string][]string{
	`opentelemetry`:                {"go.opentelemetry.io"},
	`hcl`:                          {"github.com/hashicorp/hcl"},
	`karpenter`:                    {"sigs.k8s.io/karpenter"},
	`kubernetes|kubernetes object`: {"k8s.io", "sigs.k8s.io"},
	`client|clients`:               {"k8s.io/client-go", "sigs.k8s.io/controller-runtime/pkg/client"},
	`terminal|terminals`:           {"golang.org/x/term", "charm.land"},
	`network`:                      {"net", "net/http"},
	`git`:                          {"github.com/go-git"},
	`configuration`:                {"config"},
	`lke pool|lke pools`:           {"linode/capacity"},
	`flag|flags`:                   {"flag", "github.com/spf13/pflag", "github.com/spf13/cobra"},
}

// TestPackageCommentsMatchImports: "it knows no HCL, and no terminal".
func TestPackageCommentsMatchImports(t *testing.T) {
	checked := 0
	for name, p := range ours(t) {
		for _, sentence := range strings.Split(strings.ToLower(p.doc), ".") {
			if !regexp.MustCompile(`\b(knows|reads) (no|neither|nothing)\b`).MatchString(sentence) {
				continue
			}
			for word, prefixes := range unknowns {
				if !regexp.MustCompile(`\b(no|neither|nor|or|and) (` + word + `)\b`).MatchString(sentence) {
					continue
				}
				checked++
				for _, imported := range p.imports {
					if slices.ContainsFunc(prefixes, func(prefix string) bool { return under(imported, prefix) }) {
						t.Errorf("%s imports %s, and says that it knows no %s: %s", name, imported, word, strings.TrimSpace(sentence))
					}
				}
			}
		}
	}
	if checked < 5 {
		t.Errorf("only %d sentences are checked", checked)
	}
}

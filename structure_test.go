package lkeplan_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// ours are the packages of the main module that have code, by their path in it, and what they import.
func ours(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for path, p := range packagesOf(t, ".") {
		if p.DepOnly || len(p.GoFiles) == 0 {
			continue
		}
		name := strings.TrimPrefix(path, module)
		all[name] = []string{}
		for _, imported := range p.Imports {
			all[name] = append(all[name], strings.TrimPrefix(imported, module))
		}
	}
	return all
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
	for name, all := range packages {
		from := folderOf(name)
		for _, imported := range all {
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

package lkeplan_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// apart are modules that one go.mod has in another version than the others, and why.
var apart = map[string]map[string]string{
	"cmd/sandbox/binaries/modules/kubernetes.mod": {
		"k8s.io/csi-translation-lib": "Karpenter requires an earlier one; little needs it",
	},
	"cmd/sandbox/binaries/modules/flux.mod": {
		"github.com/opencontainers/go-digest": "source-controller replaces it; little needs it",
	},
}

// TestModulesAgreeOnVersions: what the product, the sandbox, the tools and the programs of a
// sandbox have in common is compiled once. One module that differs has everything compiled
// again that imports it.
func TestModulesAgreeOnVersions(t *testing.T) {
	files, err := filepath.Glob("cmd/sandbox/binaries/modules/*.mod")
	if err != nil || len(files) < 4 {
		t.Fatalf("modules of the sandbox: %q, %v", files, err)
	}
	chosen := map[string]map[string]string{}
	for _, file := range append(files, "go.mod", "cmd/sandbox/go.mod", "tools.mod") {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if chosen[file], err = versions(file, raw); err != nil {
			t.Fatal(err)
		}
	}
	for _, problem := range disagreements(chosen, apart) {
		t.Error(problem)
	}
}

// versions are those that a go.mod chooses.
func versions(file string, raw []byte) (map[string]string, error) {
	parsed, err := modfile.Parse(file, raw, nil)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, r := range parsed.Require {
		all[r.Mod.Path] = r.Mod.Version
	}
	for _, r := range parsed.Replace {
		if r.New.Version != "" { // by a module, not by a directory
			all[r.Old.Path] = r.New.Version
		}
	}
	return all, nil
}

// disagreements says which modules several files have in different versions, but for those
// that are excused, and which excuses nothing needs.
func disagreements(chosen, excused map[string]map[string]string) []string {
	byModule := map[string]map[string][]string{} // module, version, files
	var problems []string
	for file, modules := range chosen {
		for path, version := range modules {
			if excused[file][path] == "" {
				if byModule[path] == nil {
					byModule[path] = map[string][]string{}
				}
				byModule[path][version] = append(byModule[path][version], file)
			}
		}
	}
	for path, of := range byModule {
		if len(of) < 2 {
			continue
		}
		all := slices.SortedFunc(maps.Keys(of), semver.Compare)
		latest := all[len(all)-1]
		var has []string
		for _, version := range all {
			has = append(has, version+" in "+strings.Join(slices.Sorted(slices.Values(of[version])), ", "))
		}
		problems = append(problems, fmt.Sprintf("%s is %s: all that imports it is compiled for each; "+
			"raise it with go get %s@%s (CONTRIBUTING.md, \"Versions of modules\")",
			path, strings.Join(has, " and "), path, latest))
	}
	for file, modules := range excused {
		for path := range modules {
			version, others := chosen[file][path], byModule[path]
			if version == "" || len(others) == 1 && len(others[version]) > 0 || len(others) == 0 {
				problems = append(problems, fmt.Sprintf("%s may have another version of %s, but it has not: remove that from apart",
					file, path))
			}
		}
	}
	return slices.Sorted(slices.Values(problems))
}

func TestDisagreements(t *testing.T) {
	chosen := map[string]map[string]string{
		"go.mod":    {"a": "v1.2.0", "b": "v1.0.0", "c": "v1.0.0", "d": "v1.0.0"},
		"tools.mod": {"a": "v1.10.0", "b": "v1.0.0", "c": "v1.1.0", "d": "v1.0.0"},
		"kwok.mod":  {"a": "v1.2.0"},
	}
	excused := map[string]map[string]string{"tools.mod": {"c": "why", "d": "why"}, "kwok.mod": {"e": "why"}}
	want := []string{
		"a is v1.2.0 in go.mod, kwok.mod and v1.10.0 in tools.mod: all that imports it is compiled for each; " +
			"raise it with go get a@v1.10.0 (CONTRIBUTING.md, \"Versions of modules\")",
		"kwok.mod may have another version of e, but it has not: remove that from apart",
		"tools.mod may have another version of d, but it has not: remove that from apart",
	}
	if diff := cmp.Diff(want, disagreements(chosen, excused)); diff != "" {
		t.Error(diff)
	}
}

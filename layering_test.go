// Package lkeplan_test holds the tests about the whole tree: which folders there are,
// which package may link which, and that each says what it is for.
package lkeplan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/lkeplan/lkeplan/"

// rule forbids imports, direct or not, with the reason.
type rule struct {
	from      string   // a package of ours and all below it
	exactly   bool     // from itself, not what is below it
	but       string   // a package below from, with all below it, that may import them
	forbidden []string // import path prefixes; ours without the module's path
	why       string
}

var rules = []rule{
	{from: "schemas", forbidden: []string{"cmd", "engine", "config", "kube", "linode"},
		why: "the schemas are what everything else agrees on; they cannot know any of it"},
	{from: "schemas", exactly: true, forbidden: []string{"github.com/hashicorp/hcl", "k8s.io/client-go", "sigs.k8s.io"},
		why: "readers of the language table must not have to link an evaluator or a client"},
	{from: words, forbidden: []string{"schemas", "github.com", "k8s.io"},
		why: "every package can use it, so it must not bring anything with it"},
	{from: "config", forbidden: []string{"cmd", "engine", "kube", "linode"},
		why: "a plan must follow from nothing but the commit and its variables"},
	{from: "config", forbidden: []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime", "sigs.k8s.io/karpenter", "github.com/linode"},
		why: "compiling must be possible without a cluster and Karpenter"},
	{from: "config/eval", forbidden: []string{"schemas", "k8s.io"},
		why: "the evaluator knows expressions and references, not what a pool is"},
	{from: "kube", forbidden: []string{"cmd", "engine", "config", "linode", "github.com/hashicorp/hcl"},
		why: "the cluster gets objects, regardless of the language they were written in"},
	{from: "linode", forbidden: []string{"cmd", "engine", "config", "kube", "github.com/hashicorp/hcl"},
		why: "capacity is provided for any NodePool, regardless of its author"},
	{from: "linode/capacity", forbidden: []string{"k8s.io", "sigs.k8s.io", "net/http", "linode/api", "linode/catalog"},
		why: "the decision is a function of its arguments"},
	{from: "linode/instance/decide", forbidden: []string{"k8s.io", "sigs.k8s.io", "net/http", "linode/api", "linode/catalog"},
		why: "the decision is a function of its arguments"},
	{from: "linode/loop", forbidden: []string{"k8s.io", "sigs.k8s.io", "linode/capacity", "linode/lke", "linode/instance"},
		why: "both ways to get machines run in the same loop, which knows neither"},
	{from: "linode/lke", forbidden: []string{"linode/limits", "linode/instance"},
		why: "LKE makes what was chosen; it does not choose, and no other way to get machines matters to it"},
	{from: "linode/instance", forbidden: []string{"linode/limits", "linode/capacity", "linode/lke"},
		why: "Linodes are made of what was chosen; it does not choose, and no other way to get machines matters to it"},
	{from: "linode/instance/bootstrap", forbidden: []string{"sigs.k8s.io/karpenter"},
		why: "what a machine reads follows from what its caller says"},
	{from: "linode/instance/token", forbidden: []string{"linode/api", "linode/instance/bootstrap"},
		why: "tokens are made and revoked in the cluster, regardless of what reads them, and whose certificate it is follows from the " +
			"request and the NodeClaim"},
	{from: "linode/nodeclaim", forbidden: []string{
		"linode/api", "linode/instancetype", "linode/capacity", "linode/lke", "linode/instance",
	}, why: "what a NodeClaim says is read from the NodeClaim alone, in both ways to get machines"},
	{from: "linode/instancetype", forbidden: []string{"linode/api", "linode/capacity", "linode/nodeclaim", "linode/lke"},
		why: "what a plan type offers follows from prices and nodes, regardless of orders"},
	{from: "linode/limits", forbidden: []string{"linode/api", "linode/lke", "linode/instance", "linode/capacity"},
		why: "limits count NodeClaims and their replacements; what was made of them does not matter"},
	{from: "linode/api", forbidden: []string{"k8s.io", "sigs.k8s.io"},
		why: "the client of the Linode API knows no Kubernetes"},
	{from: "linode/catalog", forbidden: []string{"k8s.io", "sigs.k8s.io", "linode/api"},
		why: "prices and plans are facts that need no cluster and no token"},
	{from: "engine/compile", forbidden: []string{"engine/compare", "engine/apply", "engine/migrate", "engine/gitops", "engine/controller",
		"engine/source"},
		why: "what a directory compiles to follows from its bytes; where they come from and what happens to the objects is for others"},
	{from: "engine/compare", forbidden: []string{"engine/apply", "engine/migrate", "engine/gitops", "engine/controller", "engine/source"},
		why: "a comparison changes nothing, so it links nothing that applies"},
	{from: "engine/apply", forbidden: []string{"engine/migrate", "engine/gitops", "engine/controller", "engine/source"},
		why: "a plan is applied in the same way, regardless of who requests it and where it came from"},
	{from: "engine/migrate", forbidden: []string{"engine/apply", "engine/compare", "engine/inspect", "engine/simulate", "engine/gitops",
		"engine/controller", "engine/source"},
		why: "objects are imported, and released, with the values that they have, and the controller may be gone"},
	{from: "engine/isolate", forbidden: []string{
		"k8s.io/client-go", "sigs.k8s.io/controller-runtime", "config", "kube", "linode", "engine/compile", "engine/gitops",
	}, why: "what others wrote is limited before it is read, regardless of what it means"},
	{from: "engine/simulate", forbidden: []string{"config", "kube", "engine/compile", "engine/compare", "engine/controller"},
		why: "where pods go follows from pools, prices and pods, wherever they were read; no cluster is asked"},
	{from: "engine/simulate/disrupt", forbidden: []string{"linode/api", "linode/lke", "engine/simulate/workload"},
		why: "what Karpenter disrupts follows from its own code and the cluster that it is shown"},
	{from: "engine/lint", forbidden: []string{"engine/simulate"},
		why: "the compiler and the controller check configurations without pods; rules that need pods are in engine/podlint"},
	{from: "engine/cluster", forbidden: []string{"config", "kube", "engine/plan", "engine/compare", "engine/inspect", "linode/api"},
		why: "what a cluster has is read in one place; what follows from it is for others"},
	{from: "engine/inspect", forbidden: []string{"engine/apply", "engine/migrate", "engine/gitops", "engine/controller",
		"engine/source"},
		why: "what is said of a cluster is read from it, and nothing is changed there; the command knows the terminal"},
	{from: "engine/gitops", forbidden: []string{"engine/controller", "engine/migrate"},
		why: "NodePlans are reconciled in the same way in any process, and adopt nothing automatically"},
	{from: "engine/plan", forbidden: []string{"kube", "engine/source", "linode/api"},
		why: "what a change does follows from two states, wherever they were read"},
	{from: "linode/inplace", forbidden: []string{"linode/api", "linode/nodeclaim"},
		why: "whether a node has drifted follows from one NodePool and one NodeClaim; package plan asks, too"},
	{from: "engine/report", forbidden: []string{"kube", "engine/source", "linode/api"},
		why: "a report is a function of the plan; where it goes and how wide that is, the command knows"},
	{from: "cmd/sandbox", but: "cmd/sandbox/e2e", forbidden: []string{"engine", "config", "kube", "cmd/sandbox/e2e"},
		why: "the sandbox plays what lkeplan runs against; only its tests know lkeplan"},
	{from: "cmd/sandbox/process", forbidden: []string{"k8s.io", "linode", "cmd/sandbox/stack", "cmd/sandbox/binaries"},
		why: "processes are started and ended in the same way regardless of what they do"},
	{from: "cmd/sandbox/image", forbidden: []string{"engine", "config", "kube", "linode", "cmd/sandbox/stack"},
		why: "a program is packed in the same way regardless of what it does"},
	{from: "engine", forbidden: []string{"cmd", "linode/sim"},
		why: "the engine is driven by commands; it does not know them, nor the simulator"},
}

// TestMachinesAreMadeWithoutSimulation: a simulation takes up to a minute and a lot of memory. In the controller, only the
// reconciler of NodePlans runs one, in its goroutines. (linode, which makes the machines, imports nothing of engine.)
func TestMachinesAreMadeWithoutSimulation(t *testing.T) {
	packages := packagesOf(t, ".")
	files, err := filepath.Glob("engine/controller/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range regexp.MustCompile(`\bsimulate\.\w+`).FindAllString(string(code), -1) {
			if call != "simulate.DefaultPod" {
				t.Errorf("%s calls %s", file, call)
			}
		}
	}
	for _, imported := range packages[module+"engine/controller"].Imports {
		switch imported = strings.TrimPrefix(imported, module); imported {
		case "engine/compare", "engine/inspect": // which simulate
			t.Errorf("engine/controller imports %s", imported)
		}
	}
	if !slices.Contains(packages.deps(module+"engine/gitops"), module+"engine/simulate") {
		t.Error("the reconciler of NodePlans simulates nothing")
	}
}

// testLibraries are for tests only: they check, or they simulate the systems around the
// product.
var testLibraries = []string{
	"testing", "net/http/httptest",
	"github.com/google/go-cmp", "github.com/onsi", "github.com/stretchr/testify",
	"github.com/rogpeppe/go-internal/testscript", "github.com/rogpeppe/go-internal/txtar",
	"github.com/itchyny/gojq", "github.com/johannesboyne/gofakes3", "github.com/yuin/gopher-lua",
	"sigs.k8s.io/controller-runtime/pkg/envtest", "sigs.k8s.io/karpenter/pkg/test",
	module + "config/configtest", module + "examples/guidetest", module + "engine/source/sourcetest",
	module + "linode/sim",
}

// linkedByOthers are packages of others that link a test library anyway.
var linkedByOthers = map[string]string{
	"github.com/hashicorp/hcl/v2/hclwrite":     "compares tokens with go-cmp",
	"github.com/fluxcd/pkg/runtime/conditions": "has its matchers for gomega next to the getters",
}

// TestLayering walks what each package links and names the reason of the rule
// that an import breaks.
func TestLayering(t *testing.T) {
	for _, dir := range modules {
		packages := packagesOf(t, dir)
		for path, p := range packages {
			if p.DepOnly {
				continue
			}
			pkg, deps := strings.TrimPrefix(path, module), packages.deps(path)
			for _, r := range rules {
				if !r.covers(pkg) {
					continue
				}
				if broken := r.broken(deps); len(broken) > 0 {
					t.Errorf("%s must not link %s: %s", pkg, strings.Join(broken, ", "), r.why)
				}
			}
		}
	}
}

// knowInstanceMode are the packages that may import linode/instance, with what is below them and itself.
var knowInstanceMode = []string{
	"linode/instance", "linode/mode", // the mode, and what chooses it for simulations and rules
	"engine/controller", "cmd/lkeplan", // which construct it for a process
	"linode/sim", "linode/linodetest", "cmd/sandbox/machine", "cmd/sandbox/e2e", // which play its machines
}

// TestInstanceModeIsBehindItsSeam: linode.Orders, Machines and Rules, and mode.Mode, are what others know of it.
func TestInstanceModeIsBehindItsSeam(t *testing.T) {
	for _, dir := range modules {
		for path, p := range packagesOf(t, dir) {
			pkg := strings.TrimPrefix(path, module)
			if p.DepOnly || slices.ContainsFunc(knowInstanceMode, func(k string) bool { return under(pkg, k) }) {
				continue
			}
			for _, imported := range p.Imports {
				if under(imported, module+"linode/instance") {
					t.Errorf("%s must not import %s: whether machines are LKE's or join one by one is decided in linode/mode", pkg, imported)
				}
			}
		}
	}
}

// TestRulesNamePackagesThatExist: a rule about a package that was renamed forbids nothing.
func TestRulesNamePackagesThatExist(t *testing.T) {
	var all []string
	for _, dir := range modules {
		for path := range packagesOf(t, dir) {
			all = append(all, strings.TrimPrefix(path, module))
		}
	}
	exists := func(name string) bool {
		return slices.ContainsFunc(all, func(pkg string) bool { return under(pkg, name) })
	}
	for _, r := range rules {
		names := []string{r.from}
		if r.but != "" {
			names = append(names, r.but)
		}
		for _, name := range r.forbidden {
			if first, _, _ := strings.Cut(name, "/"); !strings.Contains(first, ".") { // ours, or Go's own
				names = append(names, name)
			}
		}
		for _, name := range names {
			if !exists(name) {
				t.Errorf("the rule for %s names %s, which does not exist", r.from, name)
			}
		}
	}
}

// TestProgramsLinkNoTestLibrary: who installs a program downloads, builds and trusts all
// that it links. What only tests need is required in the module of cmd/sandbox.
func TestProgramsLinkNoTestLibrary(t *testing.T) {
	packages := packagesOf(t, ".")
	linked := map[string]bool{}
	for path := range packages {
		if under(path, module+"cmd") {
			for _, pkg := range append(packages.deps(path), path) {
				linked[pkg] = true
			}
		}
	}
	for pkg := range linked {
		if linkedByOthers[pkg] != "" || isTestLibrary(pkg) {
			continue
		}
		for _, imported := range packages[pkg].Imports {
			if isTestLibrary(imported) {
				t.Errorf("%s imports %s, which only tests may", pkg, imported)
			}
		}
	}
}

func isTestLibrary(pkg string) bool {
	return slices.ContainsFunc(testLibraries, func(library string) bool { return under(pkg, library) })
}

// listed are packages by their import path: those of a module, and all that they link.
type listed map[string]struct {
	ImportPath, Name, Dir, Doc string
	DepOnly                    bool // it is not of the module
	GoFiles, Imports           []string
}

// listings has each module listed once: it takes seconds.
var listings = map[string]func() (listed, error){
	".":           sync.OnceValues(func() (listed, error) { return list(".") }),
	"cmd/sandbox": sync.OnceValues(func() (listed, error) { return list("cmd/sandbox") }),
}

func list(dir string) (listed, error) {
	var stderr strings.Builder
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Name,Dir,Doc,DepOnly,GoFiles,Imports", "./...")
	cmd.Dir, cmd.Stderr = dir, &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w\n%s", dir, err, &stderr)
	}
	packages := listed{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		p := packages[""]
		if err := decoder.Decode(&p); err != nil {
			return nil, err
		}
		packages[p.ImportPath] = p
	}
	return packages, nil
}

func packagesOf(t *testing.T, dir string) listed {
	t.Helper()
	packages, err := listings[dir]()
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// deps are all packages that one links, without itself.
func (l listed) deps(path string) []string {
	seen := map[string]bool{path: true}
	var walk func(path string)
	walk = func(path string) {
		for _, imported := range l[path].Imports {
			if !seen[imported] {
				seen[imported] = true
				walk(imported)
			}
		}
	}
	walk(path)
	delete(seen, path)
	return slices.Sorted(maps.Keys(seen))
}

func (r rule) covers(pkg string) bool {
	if r.exactly {
		return pkg == r.from
	}
	return under(pkg, r.from) && (r.but == "" || !under(pkg, r.but))
}

// words writes counts, lists and times. Every package can use it.
const words = "schemas/text"

// broken returns those of the dependencies that the rule forbids.
func (r rule) broken(deps []string) []string {
	return slices.DeleteFunc(slices.Clone(deps), func(dep string) bool { // each rule reads all of them
		dep = strings.TrimPrefix(dep, module)
		return dep == words || !slices.ContainsFunc(r.forbidden, func(p string) bool { return under(dep, p) })
	})
}

func under(path, prefix string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") }

// TestPackagesHaveMeaningfulNames: a package called util has no subject.
// Packages that contain only tests need no comment.
func TestPackagesHaveMeaningfulNames(t *testing.T) {
	for _, dir := range modules {
		for path, p := range packagesOf(t, dir) {
			if p.DepOnly {
				continue
			}
			if slices.Contains([]string{"util", "utils", "common", "helpers", "helper", "misc", "shared"}, p.Name) {
				t.Errorf("%s: the name %s says nothing", path, p.Name)
			}
			if p.Doc == "" && len(p.GoFiles) > 0 {
				t.Errorf("%s has no package comment", path)
			}
		}
	}
}

// modules are the directories of the modules whose code is this project's.
var modules = []string{".", "cmd/sandbox"}

// TestTopLevel holds the root to the folders that README and CONTRIBUTING explain.
func TestTopLevel(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"cmd", "config", "engine", "linode", "kube", "schemas", "examples", "testdata", "bin"}
	for _, entry := range entries {
		if name := entry.Name(); entry.IsDir() && !strings.HasPrefix(name, ".") && !slices.Contains(known, name) {
			t.Errorf("the folder %s is none of %s: what is in it belongs in one of them", name, strings.Join(known, ", "))
		}
	}
}

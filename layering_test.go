package lkeplan_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/lkeplan/lkeplan/"

// rule forbids imports, direct or not, with the reason.
type rule struct {
	from      string   // a package of ours and all below it
	alone     bool     // from alone, not what is below it
	forbidden []string // import path prefixes; ours without the module's path
	why       string
}

var rules = []rule{
	{from: "schemas", forbidden: []string{"cmd", "engine", "config", "kube", "linode"},
		why: "the schemas are what everything else agrees on; they cannot know any of it"},
	{from: "schemas", alone: true, forbidden: []string{"github.com/hashicorp/hcl", "k8s.io/client-go", "sigs.k8s.io"},
		why: "readers of the language table must not have to link an evaluator or a client"},
	{from: "config", forbidden: []string{"cmd", "engine", "kube", "linode"},
		why: "a plan must follow from the commit and its variables alone"},
	{from: "config", forbidden: []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime", "sigs.k8s.io/karpenter", "github.com/linode", "net/http"},
		why: "compiling must be possible without a cluster, a network and Karpenter"},
	{from: "config/eval", forbidden: []string{"schemas", "k8s.io"},
		why: "the evaluator knows expressions and references, not what a pool is"},
	{from: "kube", forbidden: []string{"cmd", "engine", "config", "linode", "github.com/hashicorp/hcl"},
		why: "the cluster gets objects, whatever language they were written in"},
	{from: "linode", forbidden: []string{"cmd", "engine", "config", "kube", "github.com/hashicorp/hcl"},
		why: "capacity is provided for any NodePool, whoever wrote it"},
	{from: "linode/capacity", forbidden: []string{"k8s.io", "sigs.k8s.io", "net/http", "linode/lkeapi", "linode/catalog"},
		why: "the decision is a function of its arguments"},
	{from: "linode/limits", forbidden: []string{"k8s.io", "sigs.k8s.io", "net/http", "linode/lkeapi", "linode/catalog"},
		why: "what fits is a function of its arguments"},
	{from: "linode/nodeclaim", forbidden: []string{
		"linode/lkeapi", "linode/catalog", "linode/instancetype", "linode/fleet", "linode/earlybind",
	}, why: "what a NodeClaim says is read from the NodeClaim alone"},
	{from: "linode/instancetype", forbidden: []string{"linode/lkeapi", "linode/capacity", "linode/nodeclaim", "linode/fleet"},
		why: "what a plan type offers follows from prices and nodes, whatever was ordered"},
	{from: "linode/capacitylimit", forbidden: []string{"linode/lkeapi", "linode/fleet", "linode/earlybind"},
		why: "limits count NodeClaims; what LKE has made of them does not matter"},
	{from: "linode/fleet", forbidden: []string{"linode/capacitylimit", "linode/limits", "linode/earlybind"},
		why: "the fleet makes what was chosen; it does not choose"},
	{from: "linode/lkeapi", forbidden: []string{"k8s.io", "sigs.k8s.io"},
		why: "the client of the Linode API knows no Kubernetes"},
	{from: "linode/catalog", forbidden: []string{"k8s.io", "sigs.k8s.io", "linode/lkeapi"},
		why: "prices and plans are facts that need no cluster and no token"},
	{from: "engine/plan", forbidden: []string{"kube", "engine/source", "linode/lkeapi", "github.com/go-git"},
		why: "what a change does follows from two states, wherever they were read"},
	{from: "engine/report", forbidden: []string{"kube", "engine/source", "linode/lkeapi", "github.com/go-git"},
		why: "a report is a function of the plan; where it goes and how wide that is, the command knows"},
	{from: "cmd", forbidden: []string{"e2e", "github.com/itchyny/gojq"},
		why: "what plays the runners of CI systems is for tests alone"},
	{from: "engine", forbidden: []string{"cmd", "linode/lkesim"},
		why: "the engine is driven by commands; it does not know them, nor the simulator"},
}

// TestLayering walks what each package links and names the reason of the rule
// that an import breaks.
func TestLayering(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Deps}} {{.}}{{end}}`, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		path, deps, _ := strings.Cut(lines.Text(), " ")
		pkg := strings.TrimPrefix(path, module)
		for _, r := range rules {
			if !r.covers(pkg) {
				continue
			}
			if broken := r.broken(strings.Fields(deps)); len(broken) > 0 {
				t.Errorf("%s must not link %s: %s", pkg, strings.Join(broken, ", "), r.why)
			}
		}
	}
}

func (r rule) covers(pkg string) bool {
	if r.alone {
		return pkg == r.from
	}
	return under(pkg, r.from)
}

// broken returns those of the dependencies that the rule forbids.
func (r rule) broken(deps []string) []string {
	return slices.DeleteFunc(deps, func(dep string) bool {
		dep = strings.TrimPrefix(dep, module)
		return !slices.ContainsFunc(r.forbidden, func(p string) bool { return under(dep, p) })
	})
}

func under(path, prefix string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") }

// TestNoPackageIsCalledAfterNothing: a package that is named util holds what
// nobody found a place for.
func TestNoPackageIsCalledAfterNothing(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.Name}} {{.ImportPath}} {{.Doc}}", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		var name, path string
		fmt.Sscan(line, &name, &path)
		if slices.Contains([]string{"util", "utils", "common", "helpers", "helper", "misc", "shared"}, name) {
			t.Errorf("%s: the name %s says nothing", path, name)
		}
		if len(strings.Fields(line)) == 2 {
			t.Errorf("%s has no package comment", path)
		}
	}
}

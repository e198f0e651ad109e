package rollout_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/rollout"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/testdata/golden"
)

// TestStages compiles what was last applied and the next revision, and says what of it is
// applied first. Each pool that was there has ten nodes that match it.
func TestStages(t *testing.T) {
	golden.Archives(t, "testdata/stage", func(files fstest.MapFS) map[string]string {
		common := string(files["common.lke.hcl"].Data)
		base, head := compiled(t, common, files["base.lke.hcl"]), compiled(t, common, files["head.lke.hcl"])
		var terms rollout.Terms
		if f := files["canary"]; f != nil {
			terms = rollout.TermsOf(lkeplanv1alpha1.RolloutSpec{Canary: strings.Fields(string(f.Data)), Nodes: 1})
		}
		p, err := plan.Diff(t.Context(), plan.State{Objects: base}, plan.State{Objects: head})
		if err != nil {
			t.Fatal(err)
		}
		outdated := map[string]int{}
		for _, c := range p.Changes {
			if c.Effect == plan.Roll && c.Action == plan.Update {
				outdated[c.Name] = 10
			}
		}
		first, whole := rollout.Change{Declared: p, Live: p, Outdated: outdated}.Wave(terms)
		stage := rollout.Stage{Head: head, Base: base, Pools: first, Whole: whole}
		brakes, err := stage.FirstWaveBudgets()
		if err != nil {
			t.Fatal(err)
		}
		room := map[string]int{}
		for _, f := range first {
			room[f.Name] = 1
		}
		objects, err := stage.Objects(room)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		var pools []string
		for _, p := range first {
			pools = append(pools, fmt.Sprintf("{%s %d %v}", p.Name, p.Before, p.Created))
		}
		fmt.Fprintf(&out, "first: %v, all that changes: %v\n", pools, whole)
		for _, o := range brakes {
			fmt.Fprintln(&out, "before all else:", described(o, base, head))
		}
		for _, o := range objects {
			fmt.Fprintln(&out, "applied:", described(o, base, head))
		}
		return map[string]string{"want.txt": out.String()}
	})
}

func compiled(t *testing.T, common string, file *fstest.MapFile) []config.Object {
	t.Helper()
	files := fstest.MapFS{"main.lke.hcl": {Data: []byte(common + "\n" + string(file.Data))}}
	result, diags := compile.Dir(t.Context(), files, compile.Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return result.Objects
}

// described says of which revision an object is, and which budgets it has.
func described(o config.Object, base, head []config.Object) string {
	is := func(all []config.Object) bool {
		return slices.ContainsFunc(all, func(other config.Object) bool { return same(o, other) })
	}
	text := fmt.Sprintf("%s of the revision", o.Key())
	switch {
	case is(base) && is(head):
		text = fmt.Sprintf("%s, the same", o.Key())
	case is(base):
		text = fmt.Sprintf("%s as it was", o.Key())
	}
	if budgets, limited := manifest.Lookup(o.Manifest, "spec", "disruption", "budgets"); limited {
		text += fmt.Sprintf(", budgets %v", budgets)
	}
	return text
}

func same(a, b config.Object) bool {
	return a.Key() == b.Key() && reflect.DeepEqual(spec(a), spec(b))
}

// spec is that of an object without its budgets.
func spec(o config.Object) map[string]any {
	spec := map[string]any{}
	for key, value := range manifest.Map(o.Manifest, "spec") {
		if key != "disruption" {
			spec[key] = value
		}
	}
	return spec
}

// TestALimitIsTakenBack: the pool is as it was before.
func TestALimitIsTakenBack(t *testing.T) {
	const text = "cluster {\n  name = \"dev\"\n  region = \"us-ord\"\n}\nnode_class \"c\" {}\npool \"web\" {\n" +
		"  node_class = node_class.c\n  requirements = { cpu = 4 }\n  disruption {\n    consolidate_after = \"1m\"\n" +
		"    budget {\n      nodes = 4\n    }\n  }\n}\n"
	for _, o := range compiled(t, "", &fstest.MapFile{Data: []byte(text)}) {
		if o.Kind() != "NodePool" {
			continue
		}
		limited, err := rollout.LimitReplacement(o, 3)
		if err != nil || !rollout.InFirstWave(limited.Manifest) || rollout.InFirstWave(o.Manifest) {
			t.Fatalf("%v, %v", limited.Manifest, err)
		}
		if got := rollout.WithoutWaveBudget(limited.Manifest); !reflect.DeepEqual(got, o.Manifest) {
			t.Errorf("%v, want %v", got, o.Manifest)
		}
		full := make([]any, 50)
		manifest.Ensure(o.Manifest, "spec", "disruption")["budgets"] = full
		if _, err := rollout.LimitReplacement(o, 3); err == nil || !strings.Contains(err.Error(), "NodePool web has 50 budgets") {
			t.Error(err)
		}
	}
}

package compare

import (
	"encoding/json"
	"testing"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestObjectsNameTheRevisionThatRolledThem: the one that made them, or has changed what nodes
// are replaced for since. Who applies without a revision is not named, and neither is anybody
// after another owner has changed that.
func TestObjectsNameTheRevisionThatRolledThem(t *testing.T) {
	const pool = "\nnode_class \"default\" {}\n\npool \"web\" {\n  node_class   = node_class.default\n"
	first := compiled(t, pool+"  requirements = { cpu = 4 }\n  labels       = { a = \"1\" }\n}\n")
	weighed := compiled(t, pool+"  requirements = { cpu = 4 }\n  labels       = { a = \"1\" }\n  weight = 10\n}\n")
	larger := compiled(t, pool+"  requirements = { cpu = 8 }\n  labels       = { a = \"2\" }\n}\n")
	one, two := manifest.RolledBy{NodePlan: "infra/prod", Name: "main@sha1:1"},
		manifest.RolledBy{NodePlan: "infra/prod", Name: "main@sha1:2"}
	none := manifest.RolledBy{}
	type step struct {
		head compile.Result
		by   manifest.RolledBy
		edit bool // another owner changes the template afterwards
	}
	for name, test := range map[string]struct {
		steps []step
		want  manifest.RolledBy
	}{
		"it was made":                        {[]step{{first, one, false}}, one},
		"a later one rolls nothing":          {[]step{{first, one, false}, {weighed, two, false}}, one},
		"a later one changes nothing":        {[]step{{first, one, false}, {first, two, false}}, one},
		"a later one rolls":                  {[]step{{first, one, false}, {larger, two, false}}, two},
		"a later one rolls and is not known": {[]step{{first, one, false}, {larger, none, false}}, none},
		"it is known again":                  {[]step{{first, manifest.RolledBy{}, false}, {larger, two, false}}, two},
		"another owner has changed it":       {[]step{{first, one, true}}, manifest.RolledBy{}},
		"that is not laid to the next one":   {[]step{{first, one, true}, {weighed, two, true}}, manifest.RolledBy{}},
	} {
		t.Run(name, func(t *testing.T) {
			view := cluster{}
			var live map[string]any
			for _, s := range test.steps {
				live = brought(t, view, s.head, s.by)
				if s.edit {
					manifest.Ensure(live, "spec", "template", "metadata", "labels")["b"] = "somebody's"
					view["NodePool"] = []string{written(t, live)}
				}
			}
			part, err := partOf(live)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := manifest.ReadRolledBy(annotationsOf(live), part); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

// brought applies a configuration to a cluster, as far as it is not as it should be, and
// returns the pool. A second time nothing is left to do.
func brought(t *testing.T, view cluster, head compile.Result, by manifest.RolledBy) (pool map[string]any) {
	t.Helper()
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	validator := kube.BuiltinValidator()
	for pass := range 2 {
		found, err := Live(t.Context(), head, LiveView(view), LiveOptions{Base: head, Prices: prices, By: by})
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range found.Targets {
			if target.Unchanged {
				continue
			}
			if pass == 1 {
				t.Errorf("%s is to be applied again", manifest.KeyOf(target.Desired))
			}
			after, conflicts, err := validator.Predict(target.Live, target.Desired)
			if err != nil || len(conflicts) > 0 {
				t.Fatal(err, conflicts)
			}
			manifest.Ensure(after, "metadata")["uid"] = manifest.Name(after)
			view[manifest.Kind(after)] = []string{written(t, after)}
		}
	}
	if err := json.Unmarshal([]byte(view["NodePool"][0]), &pool); err != nil {
		t.Fatal(err)
	}
	return pool
}

func written(t *testing.T, obj map[string]any) string {
	t.Helper()
	raw, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

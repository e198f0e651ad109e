package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/config/configtest"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

func night(lines string) string {
	return "during \"night\" {\n  schedule = \"0 20 * * mon-fri\"\n  duration = \"10h\"\n" + lines + "\n}\n"
}

func nightAt(schedule, lines string) string {
	return strings.ReplaceAll(night(lines), "0 20 * * mon-fri", schedule)
}

// TestDuringIsEvaluatedAsPermanentChange: a during block has the effect of setting its values permanently.
func TestDuringIsEvaluatedAsPermanentChange(t *testing.T) {
	const empty, merge, cut = "WhenEmpty", "WhenEmptyOrUnderutilized", `nodes = "1"`
	loose := func(lines string) string { return "disruption {\n" + lines + "\n}" }
	buffer := func(lines string) string {
		return "buffer \"spare\" {\nnamespace = \"default\"\npod_template = \"pod\"\nreplicas = 3\n" + lines + "\n}\n"
	}
	weighed := func(weight int) string {
		return fmt.Sprintf("pool \"zone\" {\n  node_class = node_class.default\n  weight = %d\n}\n", weight)
	}
	late := func(lines string) string { return strings.Replace(night(lines), "night", "late", 1) }
	soon := night(loose(`consolidate_after = "1m"`))
	tests := []struct {
		name, before, after, more, and string
		want                           []string // pools whose nodes may be removed
		removable                      int
		effect                         plan.Effect
		deleted                        int
	}{
		{name: "a limit", before: "limits = { cpu = 400 }",
			after: "limits = { cpu = 400 }\n" + night("limits = { cpu = 0 }")},
		{name: "consolidated sooner", before: disruption(merge, "2h"), after: disruption(merge, "2h") +
			night(loose(`consolidate_after = "1m"`)), want: []string{"web"}, removable: 3},
		{name: "consolidated at night only", before: disruption(merge, "Never"), after: disruption(merge, "Never") +
			night(loose(`consolidate_after = "1m"`)), want: []string{"web"}, removable: 3},
		{name: "consolidated later", before: disruption(merge, "2h"), after: disruption(merge, "2h") +
			night(loose(`consolidate_after = "3h"`))},
		{name: "a stricter time ends", before: disruption(merge, "2h") + night(loose(`consolidate_after = "3h"`)),
			after: disruption(merge, "2h"), want: []string{"web"}, removable: 3},
		{name: "a looser time ends", before: disruption(merge, "2h") + night(loose(`consolidate_after = "1m"`)),
			after: disruption(merge, "2h")},
		{name: "a looser time moves", before: disruption(merge, "2h") + night(loose(`consolidate_after = "1m"`)),
			after: disruption(merge, "2h") + nightAt("0 21 * * mon-fri", loose(`consolidate_after = "1m"`)),
			want:  []string{"web"}, removable: 3},
		{name: "another value at the same time", before: disruption(merge, "2h") + night(loose(`consolidate_after = "1m"`)),
			after: disruption(merge, "2h") + night(loose(`consolidate_after = "2m"`))},
		{name: "another name", before: disruption(merge, "2h") + night(loose(`consolidate_after = "1m"`)),
			after: disruption(merge, "2h") + strings.ReplaceAll(night(loose(`consolidate_after = "1m"`)), "\"night\"",
				"\"dark\"")},
		{name: "more budgets", before: disruption(merge, "2h", cut), after: disruption(merge, "2h", cut) +
			night(loose("budget {\n nodes = \"100%\"\n}")), want: []string{"web"}, removable: 3},
		{name: "a wider policy", before: disruption(empty, "2h"), after: disruption(empty, "2h") +
			night(loose(`policy = "WhenEmptyOrUnderutilized"`)), want: []string{"web"}, removable: 3},
		{name: "a weight", before: "weight = 10", after: "weight = 10\n" + night("weight = 1"),
			want: []string{"merged", "web"}, removable: 3},
		{name: "fewer replicas", before: "replicas = 3", after: "replicas = 3\n" + night("replicas = 1"),
			effect: plan.DeleteNodes, deleted: 2},
		{name: "more replicas", before: "replicas = 3", after: "replicas = 3\n" + night("replicas = 5"),
			effect: plan.DeleteNodes, deleted: 2},
		{name: "more replicas outside of a time", before: "replicas = 3", after: "replicas = 30\n" + night("replicas = 3"),
			effect: plan.DeleteNodes, deleted: 3},
		{name: "more replicas outside of a time without effect", before: "replicas = 3\n" + night("replicas = 3"),
			after: "replicas = 5\n" + night("replicas = 3"), effect: plan.DeleteNodes, deleted: 2},
		{name: "more replicas at all times", before: "replicas = 5\n" + night("replicas = 3"),
			after: "replicas = 7\n" + night("replicas = 5"), effect: plan.InPlace},
		{name: "more replicas end", before: "replicas = 3\n" + night("replicas = 5"), after: "replicas = 3",
			effect: plan.DeleteNodes},
		{name: "a smaller buffer", more: buffer(""), and: buffer(night("replicas = 1")),
			want: []string{"empty", "merged", "web"}, removable: 3},
		{name: "a larger buffer", more: buffer(""), and: buffer(night("replicas = 4"))},
		{name: "a larger buffer ends", more: buffer(night("replicas = 4")), and: buffer(""),
			want: []string{"empty", "merged", "web"}, removable: 3},
		{name: "two blocks consolidate together", before: disruption(empty, "Never") + soon + late("limits = { cpu = 9 }"),
			after: disruption(empty, "Never") + soon + late("limits = { cpu = 9 }\n"+loose(`policy = "WhenEmptyOrUnderutilized"`)),
			want:  []string{"web"}, removable: 3},
		{name: "a stricter block of two ends", before: disruption(merge, "Never") + soon + late(loose(`policy = "WhenEmpty"`)),
			after: disruption(merge, "Never") + soon, want: []string{"web"}, removable: 3},
		{name: "requirements while two blocks consolidate", before: disruption(empty, "Never") + soon +
			late(loose(`policy = "WhenEmptyOrUnderutilized"`)), after: "requirements = { cpu = [4, 8] }\n" +
			disruption(empty, "Never") + soon + late(loose(`policy = "WhenEmptyOrUnderutilized"`)),
			want: []string{"web"}, removable: 3},
		{name: "a looser block of two ends", before: disruption(empty, "Never") + soon +
			late(loose(`policy = "WhenEmptyOrUnderutilized"`)), after: disruption(empty, "Never") + soon},
		{name: "a buffer ends for a pool that consolidates at night", before: disruption(merge, "Never") + soon,
			after: disruption(merge, "Never") + soon, more: buffer(""), want: []string{"empty", "merged", "web"}, removable: 3},
		{name: "an order that changes at night only", before: disruption(merge, "2h") + "weight = 10\n" + night("weight = 60"),
			after: disruption(merge, "2h") + "weight = 10\n" + night("weight = 60"), more: weighed(20), and: weighed(80),
			want: []string{"merged", "web", "zone"}, removable: 3},
	}
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before, after := compiled(t, fleet(test.before, test.more)), compiled(t, fleet(test.after, test.and))
			var nodes []plan.Node
			for i := range 3 {
				nodes = append(nodes, plan.Node{Name: fmt.Sprintf("web-%d", i), Pool: "web"})
			}
			nodes = stamped(t, nodes, before)
			p, err := RevisionsAmong(before, after, nodes, prices, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			var loosened []string
			removable, deleted, effect := 0, 0, plan.None
			for _, c := range p.Changes {
				if c.Kind != "NodePool" {
					continue
				}
				if c.Loosens {
					loosened = append(loosened, c.Name)
				}
				if c.Name == "web" {
					removable, deleted = c.Impact.Removable, c.Impact.Deleted
					effect = c.Effect
				}
			}
			slices.Sort(loosened)
			if diff := cmp.Diff(test.want, loosened); diff != "" || removable != test.removable || deleted != test.deleted {
				t.Errorf("%d nodes may be removed, %d are deleted, want %d and %d; pools:\n%s", removable, deleted, test.removable,
					test.deleted, diff)
			}
			if test.effect != "" && effect != test.effect || len(test.want) == 0 && test.effect == "" &&
				effect == plan.MayRemove {
				t.Errorf("effect %s, want %s", effect, test.effect)
			}
		})
	}
}

// TestCostsAreThoseOfAllTimes: the maximum is that of the most expensive values, and the minimum that of the cheapest.
func TestCostsAreThoseOfAllTimes(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	cost := func(lines string) plan.Cost {
		head := compiled(t, fleet(lines, ""))
		p, err := Revisions(compile.Result{}, head, prices, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range p.Changes {
			if c.Name == "web" && c.Kind == "NodePool" {
				return *c.After
			}
		}
		t.Fatal("no pool")
		return plan.Cost{}
	}
	small, large := cost("limits = { cpu = 4 }"), cost("limits = { cpu = 400 }")
	if got := cost("limits = { cpu = 4 }\n" + night("limits = { cpu = 400 }")); got.Ceiling != large.Ceiling {
		t.Errorf("maximum %v, want %v, not %v", got.Ceiling, large.Ceiling, small.Ceiling)
	}
	one, three := cost("replicas = 1"), cost("replicas = 3")
	if got := cost("replicas = 3\n" + night("replicas = 1")); got.Floor != one.Floor || got.Ceiling != three.Ceiling {
		t.Errorf("from %v to %v, want from %v to %v", got.Floor, got.Ceiling, one.Floor, three.Ceiling)
	}
}

// TestSwitchIsNoDrift: in a window and outside of it, the plan is empty and there is no drift. An edit is found, with
// the value that it is reverted to now.
func TestSwitchIsNoDrift(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	head := compiled(t, fleet("limits = { cpu = 400 }\n"+night("limits = { cpu = 0 }\n"+
		"disruption {\n  budget {\n    nodes = \"0\"\n  }\n}"), ""))
	dark, noon := time.Date(2026, 11, 23, 21, 0, 0, 0, time.UTC), time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	validator := kube.BuiltinValidator()
	applied := func(now time.Time) (objects []map[string]any) {
		effective, err := at(head.Objects, now)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range effective {
			live, _, err := validator.Predict(nil, head.Labelled(o.Manifest))
			if err != nil {
				t.Fatal(err)
			}
			manifest.Map(live, "metadata")["uid"] = o.Name()
			objects = append(objects, live)
		}
		return objects
	}
	for _, when := range []time.Time{dark, noon} {
		for _, now := range []time.Time{dark, noon} {
			found, err := Live(t.Context(), head, memory(applied(when)), LiveOptions{Base: head, Prices: prices, Now: now})
			if err != nil {
				t.Fatal(err)
			}
			if !found.Plan.Empty() || len(found.Plan.Drift) > 0 {
				t.Errorf("applied at %s, at %s: changes %v, drift %v", when, now, found.Plan.Changes, found.Plan.Drift)
			}
			for _, target := range found.Targets {
				want := manifest.Name(target.Desired) != "web" || when == now
				if target.Unchanged != want {
					t.Errorf("applied at %s, at %s: %s is unchanged: %t", when, now, manifest.KeyOf(target.Desired), target.Unchanged)
				}
			}
			if err := found.Judged(); err != nil {
				t.Error(err)
			}
		}
	}
	for now, value := range map[time.Time]string{dark: "0", noon: "400"} {
		for _, edit := range []string{"100", "0", "400"} {
			objects := applied(now)
			for _, obj := range objects {
				if manifest.Name(obj) == "web" {
					setByHand(obj, "limits", map[string]any{"cpu": edit})
					entries := manifest.Map(obj, "metadata")["managedFields"].([]any)
					manifest.Map(entries[len(entries)-1].(map[string]any), "fieldsV1", "f:spec",
						"f:limits")["f:cpu"] = map[string]any{}
				}
			}
			found, err := Live(t.Context(), head, memory(objects), LiveOptions{Base: head, Prices: prices, Now: now})
			if err != nil {
				t.Fatal(err)
			}
			text := ""
			for _, c := range found.Plan.Changes {
				for _, f := range c.Fields {
					text += fmt.Sprintf("%s %v → %v;", f.Path, f.Before, f.After)
				}
			}
			if want := fmt.Sprintf("spec.limits.cpu %s → %s;", edit, value); edit != value && text != want ||
				edit == value && text != "" {
				t.Errorf("at %s, the edit to %s is shown as %q", now, edit, text)
			}
		}
	}
}

// TestAnnotationOfAnotherUserIsRepaired: a live object whose during blocks another user has broken does not prevent the
// plan that restores them.
func TestAnnotationOfAnotherUserIsRepaired(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	validator := kube.BuiltinValidator()
	head := compiled(t, fleet("limits = { cpu = 400 }\n"+night("limits = { cpu = 0 }"), ""))
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprintf(`{"name":"w%d","schedule":"%d * * * *","duration":"1m","set":{"spec.x%d":1}}`, i, i, i))
	}
	for name, text := range map[string]string{
		"no JSON":      "night",
		"null":         "null",
		"other fields": `{"base":{},"windows":[{"name":"a","set":{"spec.template.spec.taints":[]}}]}`,
		"no schedule":  `{"base":{},"windows":[{"name":"a","set":{"spec.limits":{"cpu":"1"}}}]}`,
		"other types":  `{"base":{},"windows":[{"name":"a","schedule":"0 1 * * *","duration":"1h","set":{"spec.limits":"a","spec.weight":"b"}}]}`,
		"a deep path":  `{"base":{},"windows":[{"name":"a","schedule":"0 1 * * *","duration":"1h","set":{"spec.limits.cpu.x":"a"}}]}`,
		"the spec":     `{"base":{},"windows":[{"name":"a","schedule":"0 1 * * *","duration":"1h","set":{"spec.":1}}]}`,
		"many windows": `{"base":{},"windows":[` + strings.Join(many, ",") + `]}`,
	} {
		t.Run(name, func(t *testing.T) {
			var objects []map[string]any
			for _, o := range head.Objects {
				live, _, err := validator.Predict(nil, head.Labelled(o.Manifest))
				if err != nil {
					t.Fatal(err)
				}
				manifest.Map(live, "metadata")["uid"] = o.Name()
				if o.Name() == "web" {
					live = manifest.Annotated(live, manifest.AnnotationDuring, text)
				}
				objects = append(objects, live)
			}
			configtest.Within(t, 5*time.Second, func() {
				found, err := Live(t.Context(), head, memory(objects), LiveOptions{Base: head, Prices: prices, Now: time.Now()})
				if err != nil {
					t.Fatal(err)
				}
				if len(found.Plan.Changes) == 0 {
					t.Fatal("nothing changes")
				}
			})
		})
	}
}

// memory is a cluster of objects without nodes.
func memory(objects []map[string]any) View {
	kinds := map[string][]map[string]any{}
	for _, obj := range objects {
		kinds[manifest.Kind(obj)] = append(kinds[manifest.Kind(obj)], obj)
	}
	return drawn{objects: kinds, nodes: []plan.Node{}}
}

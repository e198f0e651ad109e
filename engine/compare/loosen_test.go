package compare

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/rollout"
	"github.com/lkeplan/lkeplan/engine/schedule"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// fleet is a pool web with lines of a test, and one pool of each consolidation next to it.
func fleet(web, more string) string {
	pool := func(name, lines string) string {
		return fmt.Sprintf("pool %q {\n  node_class = node_class.default\n%s\n}\n", name, lines)
	}
	if !strings.Contains(web, "requirements") {
		web += "\nrequirements = { cpu = 4 }"
	}
	return "node_class \"default\" {}\n" + pool("web", web) +
		pool("merged", "requirements = { cpu = 4 }\ndisruption {\n  consolidate_after = \"1h\"\n}") +
		pool("empty", "requirements = { cpu = 4 }\ndisruption {\n  policy = \"WhenEmpty\"\n  consolidate_after = \"1h\"\n}") +
		pool("kept", "requirements = { cpu = 4 }\ndisruption {\n  consolidate_after = \"Never\"\n}") +
		pool("fixed", "requirements = { cpu = 4 }\nreplicas = 2") + more
}

// disruption is a block with a policy, a time and budgets.
func disruption(policy, after string, budgets ...string) string {
	text := fmt.Sprintf("disruption {\n  policy = %q\n  consolidate_after = %q\n", policy, after)
	for _, b := range budgets {
		text += "  budget {\n    " + strings.ReplaceAll(b, "; ", "\n    ") + "\n  }\n"
	}
	return text + "}\n"
}

// TestLoosening: what may take away a node that matches before and after a change is said to,
// and counted; what is as strict as before is not.
func TestLoosening(t *testing.T) {
	const (
		empty, merge, balanced = "WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"
		none, cut, some        = `nodes = "0"`, `nodes = "1"`, `nodes = "10%"`
		business               = `nodes = "0"; schedule = "0 9 * * mon-fri"; duration = "8h"`
	)
	overlay := func(lines string) string { return "overlay \"dear\" {\n" + lines + "\n}\n" }
	buffer := func(lines string) string {
		return "buffer \"spare\" {\nnamespace = \"default\"\npod_template = \"pod\"\n" + lines + "\n}\n"
	}
	scaled := func(lines string) string {
		return "buffer \"spare\" {\nnamespace = \"default\"\nscalable {\n  kind = \"Deployment\"\n  name = \"web\"\n}\n" + lines + "\n}\n"
	}
	const last = "pool \"zone\" {\n  node_class = node_class.default\n  requirements = { cpu = 4 }\n" +
		"  disruption {\n    consolidate_after = \"Never\"\n  }\n}\n"
	const all = `requirements = {}`
	merging := []string{"merged", "web"}
	labelled := func(tier string) string {
		return fmt.Sprintf("in_place = [\"example.com/tier\"]\nlabels = { \"example.com/tier\" = %q }", tier)
	}
	tests := []struct {
		name             string
		before, after    string // lines of pool web
		more, and        string // other blocks, before and after
		want             []string
		without          bool // a cluster
		effect           plan.Effect
		removable, moved int // nodes, of web
	}{
		// The policy.
		{name: "under-utilized nodes go, too", before: disruption(empty, "2h"), after: disruption(merge, "2h"),
			want: []string{"web"}, removable: 3},
		{name: "balanced instead of only empty ones", before: disruption(empty, "2h"), after: disruption(balanced, "2h"),
			want: []string{"web"}, removable: 3},
		{name: "all instead of balanced moves", before: disruption(balanced, "2h"), after: disruption(merge, "2h"),
			want: []string{"web"}, removable: 3},
		{name: "balanced instead of all moves", before: disruption(merge, "2h"), after: disruption(balanced, "2h")},
		{name: "only empty ones", before: disruption(merge, "2h"), after: disruption(empty, "2h")},
		{name: "a policy that never acts", before: disruption(empty, "Never"), after: disruption(merge, "Never")},
		{name: "a policy that is left out", before: disruption(empty, "2h"), after: "disruption {\n  consolidate_after = \"2h\"\n}",
			want: []string{"web"}, removable: 3},
		{name: "the default is written out", before: "disruption {\n  consolidate_after = \"2h\"\n}", after: disruption(merge, "2h")},
		{name: "a disruption block that is left out", before: disruption(empty, "2h"), after: "", want: []string{"web"}, removable: 3},
		// The time.
		{name: "sooner", before: disruption(empty, "2h"), after: disruption(empty, "1h59m"), want: []string{"web"}, removable: 3},
		{name: "later", before: disruption(merge, "0s"), after: disruption(merge, "1s")},
		{name: "no longer never", before: disruption(merge, "Never"), after: disruption(merge, "8760h"),
			want: []string{"web"}, removable: 3},
		{name: "never", before: disruption(merge, "0s"), after: disruption(merge, "Never")},
		{name: "the same time, another spelling", before: disruption(merge, "0s"), after: disruption(merge, "0m")},
		{name: "an hour, another spelling", before: disruption(merge, "60m"), after: disruption(merge, "1h")},
		{name: "stricter policy, but sooner", before: disruption(merge, "2h"), after: disruption(empty, "0s"),
			want: []string{"web"}, removable: 3},
		// Budgets.
		{name: "more nodes", before: disruption(merge, "2h", cut), after: disruption(merge, "2h", `nodes = "2"`),
			want: []string{"web"}, removable: 3},
		{name: "fewer nodes", before: disruption(merge, "2h", `nodes = "2"`), after: disruption(merge, "2h", cut)},
		{name: "a larger share", before: disruption(merge, "2h", some), after: disruption(merge, "2h", `nodes = "11%"`),
			want: []string{"web"}, removable: 3},
		{name: "a number instead of a share", before: disruption(merge, "2h", some), after: disruption(merge, "2h", `nodes = "2"`),
			want: []string{"web"}, removable: 3},
		{name: "one node instead of a share", before: disruption(merge, "2h", some), after: disruption(merge, "2h", cut),
			want: []string{"web"}, removable: 3},
		{name: "a share of all nodes is no bound", before: disruption(merge, "2h", `nodes = "100%"`),
			after: disruption(merge, "2h", `nodes = "500"`), want: []string{"web"}, removable: 3},
		{name: "a budget is gone", before: disruption(merge, "2h", some, business), after: disruption(merge, "2h", some),
			want: []string{"web"}, removable: 3},
		{name: "a budget is added", before: disruption(merge, "2h", some), after: disruption(merge, "2h", some, business)},
		{name: "default budgets instead of none", before: disruption(merge, "2h", none), after: disruption(merge, "2h"),
			want: []string{"web"}, removable: 3},
		{name: "the default budget is written out", before: disruption(merge, "2h"), after: disruption(merge, "2h", some)},
		{name: "another order of budgets", before: disruption(merge, "2h", some, business),
			after: disruption(merge, "2h", business, some)},
		{name: "an hour later", before: disruption(merge, "2h", business),
			after: disruption(merge, "2h", strings.ReplaceAll(business, "0 9", "0 10")), want: []string{"web"}, removable: 3},
		{name: "for a shorter time", before: disruption(merge, "2h", business),
			after: disruption(merge, "2h", strings.ReplaceAll(business, "8h", "7h59m")), want: []string{"web"}, removable: 3},
		{name: "for a longer time", before: disruption(merge, "2h", business),
			after: disruption(merge, "2h", strings.ReplaceAll(business, "8h", "9h"))},
		{name: "the same days, another spelling", before: disruption(merge, "2h", business),
			after: disruption(merge, "2h", strings.ReplaceAll(business, "mon-fri", "1-5")), want: []string{"web"}, removable: 3},
		{name: "always instead of by day", before: disruption(merge, "2h", business), after: disruption(merge, "2h", none)},
		{name: "for fewer reasons", before: disruption(merge, "2h", none), want: []string{"web"}, removable: 3,
			after: disruption(merge, "2h", none+`; reasons = ["Drifted", "Empty"]`)},
		{name: "a reason at a time", before: disruption(merge, "2h", none),
			after: disruption(merge, "2h", none+`; reasons = ["Drifted", "Empty"]`, none+`; reasons = ["Underutilized"]`), want: []string{"web"}, removable: 3},
		{name: "another order of reasons", before: disruption(merge, "2h", none+`; reasons = ["Drifted", "Empty"]`),
			after: disruption(merge, "2h", none+`; reasons = ["Empty", "Drifted"]`)},
		{name: "a list of no reasons is a budget for none", before: disruption(merge, "2h", none), want: []string{"web"}, removable: 3,
			after: "manifest = { spec = { disruption = { consolidateAfter = \"2h\", budgets = [{ nodes = \"0\", reasons = [] }] } } }"},
		{name: "a list of no budgets bounds nothing", before: disruption(merge, "2h"), want: []string{"web"}, removable: 3,
			after: "manifest = { spec = { disruption = { consolidateAfter = \"2h\", budgets = [] } } }"},
		{name: "a budget for drift of a pool in which nothing has drifted", before: disruption(merge, "Never", none),
			after: disruption(merge, "Never", some), want: []string{"web"}, effect: plan.MayRemove},
		// Requirements, for what nodes are replaced by cheaper ones.
		{name: "cheaper plans are allowed", before: disruption(merge, "2h") + "requirements = { cpu = [4] }",
			after: disruption(merge, "2h") + "requirements = { cpu = [2, 4] }", want: merging, removable: 3},
		{name: "a requirement is gone", before: disruption(merge, "2h") + `requirements = { cpu = 4, class = "dedicated" }`,
			after: disruption(merge, "2h") + "requirements = { cpu = 4 }", want: merging, removable: 3},
		{name: "cheaper plans are allowed where only empty nodes go", before: disruption(empty, "2h") + "requirements = { cpu = [4] }",
			after: disruption(empty, "2h") + "requirements = { cpu = [2, 4] }", want: []string{"merged"}},
		{name: "cheaper plans and not those before", before: disruption(merge, "2h") + "requirements = { cpu = [4, 6] }",
			after: disruption(merge, "2h") + "requirements = { cpu = [2, 4] }", want: merging, effect: plan.Roll, removable: 3},
		{name: "fewer kinds have to be left", before: disruption(merge, "2h") + "requirements = { cpu = atleast(2, [2, 4]) }",
			after: disruption(merge, "2h") + "requirements = { cpu = [2, 4] }", want: []string{"web"}, removable: 3},
		{name: "other plans are excluded", before: disruption(merge, "2h") + "requirements = { cpu = [2, 4] }",
			after: disruption(merge, "2h") + "requirements = { cpu = [4] }", want: []string{"merged"}, effect: plan.Roll},
		// What Karpenter hashes replaces nodes; what is in a NodeClaim does not change for it.
		{name: "nodes expire sooner", before: `expire_after = "Never"`, after: `expire_after = "24h"`, effect: plan.Roll, moved: 3},
		{name: "a shorter grace period", before: `termination_grace_period = "2h"`, after: `termination_grace_period = "1h"`,
			effect: plan.Roll, moved: 3},
		{name: "replaced, and budgets are gone", before: disruption(merge, "2h", none), after: "labels = { a = \"b\" }\n" + disruption(merge, "2h"),
			want: []string{"web"}, effect: plan.Roll, moved: 3},
		// Static pools.
		{name: "a static pool consolidates nothing", before: "replicas = 3\n" + disruption(empty, "2h"),
			after: "replicas = 3\n" + disruption(merge, "0s")},
		{name: "a budget of a static pool", before: "replicas = 3\n" + disruption(merge, "0s", none),
			after: "replicas = 3\n" + disruption(merge, "0s", some), want: []string{"web"}},
		{name: "fewer replicas", before: "replicas = 3", after: "replicas = 1", effect: plan.DeleteNodes},
		// What removes no node.
		{name: "a lower limit", before: "limits = { cpu = 400 }", after: "limits = { cpu = 1 }", want: []string{"merged"}},
		{name: "a higher limit", before: "limits = { cpu = 1 }", after: "limits = { cpu = 400 }", want: []string{"merged"}},
		{name: "a higher limit, and a new label", before: "limits = { cpu = 1 }", after: "limits = { cpu = 400 }\nlabels = { a = \"b\" }",
			want: []string{"merged"}, effect: plan.Roll, moved: 3},
		{name: "labels of the object", before: "", after: "metadata {\n  labels = { a = \"b\" }\n}"},
		{name: "a new pool", and: "pool \"new\" {\n  node_class = node_class.default\n  requirements = { cpu = 2 }\n}\n", want: merging, removable: 3},
		// Other objects.
		{name: "another order of weights", before: "", after: "weight = 1", more: last, and: last, want: merging, removable: 3},
		{name: "a weight in the same order", before: "weight = 1", after: "weight = 100", more: last, and: last},
		{name: "a weight where nothing merges", before: disruption(empty, "2h") + "weight = 1", after: disruption(empty, "2h"),
			more: last, and: last, want: []string{"merged"}},
		{name: "an overlay with a price", and: overlay(all + "\nprice_adjustment = \"+900%\""), want: merging, removable: 3},
		{name: "another price", more: overlay(all + "\nprice_adjustment = \"+900%\""), and: overlay(all + "\nprice_adjustment = \"+9%\""),
			want: merging, removable: 3},
		{name: "no overlay any more", more: overlay(all + "\nprice = \"9\""), want: merging, removable: 3},
		{name: "an overlay with devices", and: overlay(all + "\ncapacity = { \"example.com/fuse\" = 1 }"), want: merging, removable: 3},
		{name: "another weight of an overlay", more: overlay(all + "\nprice = \"9\""), and: overlay(all + "\nprice = \"9\"\nweight = 9"),
			want: merging, removable: 3},
		{name: "an overlay for one pool makes others dear", want: merging, removable: 3,
			and: overlay("requirements = { \"karpenter.sh/nodepool\" = \"empty\" }\nprice = \"0.001\"")},
		{name: "other machines of an overlay", more: overlay("requirements = { instance_type = \"g6-standard-2\" }\nprice = \"9\""),
			and: overlay("requirements = { instance_type = \"g6-standard-4\" }\nprice = \"9\""), want: merging, removable: 3},
		{name: "an overlay for a pool that is new", without: true,
			and: overlay("requirements = { \"karpenter.sh/nodepool\" = \"new\" }\nprice = \"9\"") +
				"pool \"new\" {\n  node_class = node_class.default\n  requirements = { cpu = 2 }\n}\n", want: merging},
		{name: "labels of an overlay", more: overlay(all + "\nprice = \"9\""),
			and: overlay(all + "\nprice = \"9\"\nmetadata {\n  labels = { a = \"b\" }\n}")},
		{name: "a label in place that an overlay selects", before: labelled("iron"), after: labelled("gold"), want: merging,
			without: true, more: overlay("requirements = { \"example.com/tier\" = \"gold\", cpu = 16 }\nprice = \"0.001\""),
			and: overlay("requirements = { \"example.com/tier\" = \"gold\", cpu = 16 }\nprice = \"0.001\"")},
		{name: "a label in place that no overlay selects", before: labelled("iron"), after: labelled("gold"), without: true,
			more: overlay("requirements = { cpu = 16 }\nprice = \"0.001\""), and: overlay("requirements = { cpu = 16 }\nprice = \"0.001\"")},
		{name: "a buffer is gone", more: buffer("replicas = 2"), want: []string{"empty", "merged", "web"}, removable: 3},
		{name: "a smaller buffer", more: buffer("replicas = 2"), and: buffer("replicas = 1"),
			want: []string{"empty", "merged", "web"}, removable: 3},
		{name: "a larger buffer", more: buffer("replicas = 1"), and: buffer("replicas = 2")},
		{name: "a number of pods instead of all that limits allow", more: buffer("limits = { cpu = 8 }"),
			and: buffer("replicas = 9\nlimits = { cpu = 8 }"), want: []string{"empty", "merged", "web"}, removable: 3},
		{name: "all that limits allow", more: buffer("replicas = 9\nlimits = { cpu = 8 }"), and: buffer("limits = { cpu = 8 }")},
		{name: "no limit of a buffer", more: buffer("replicas = 9\nlimits = { cpu = 8 }"), and: buffer("replicas = 9")},
		{name: "a limit of a buffer", more: buffer("replicas = 9"), and: buffer("replicas = 9\nlimits = { cpu = 8 }"),
			want: []string{"empty", "merged", "web"}, removable: 3},
		{name: "a share in addition to a number of pods", more: scaled("replicas = 9"), and: scaled("replicas = 9\npercentage = 1")},
		{name: "no number of pods in addition to a share", more: scaled("replicas = 9\npercentage = 50"), and: scaled("percentage = 50"),
			want: []string{"empty", "merged", "web"}, removable: 3},
		{name: "a new buffer", and: buffer("replicas = 2")},
		{name: "a lower limit of a buffer", more: buffer("replicas = 9\nlimits = { cpu = 8 }"),
			and: buffer("replicas = 9\nlimits = { cpu = 7 }"), want: []string{"empty", "merged", "web"}, removable: 3},
		{name: "a limit of a buffer in another unit", more: buffer("replicas = 9\nlimits = { cpu = 8 }"),
			and: buffer("replicas = 9\nlimits = { cpu = \"8000m\" }")},
		{name: "room for other pods", more: buffer("replicas = 9"),
			and: strings.ReplaceAll(buffer("replicas = 9"), `"pod"`, `"small"`), want: []string{"empty", "merged", "web"}, removable: 3},
	}
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	nodes := []plan.Node{{Name: "a", Pool: "web"}, {Name: "b", Pool: "web"}, {Name: "c", Pool: "web"}, {Name: "d", Pool: "merged"}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			base, head := compiled(t, fleet(tt.before, tt.more)), compiled(t, fleet(tt.after, tt.and))
			before, after, err := statesOf(base, head, prices, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if !tt.without {
				before.Nodes = stamped(t, nodes, base)
				after.Nodes = before.Nodes
			}
			p, err := plan.Diff(t.Context(), before, after)
			if err != nil {
				t.Fatal(err)
			}
			s := p.Summary()
			var pools []string
			for _, addr := range s.Removable {
				pools = append(pools, strings.TrimPrefix(addr, "pool."))
			}
			if diff := cmp.Diff(tt.want, pools); diff != "" {
				t.Errorf("pools of which nodes may be removed (-want +got):\n%s", diff)
			}
			for _, c := range p.Changes {
				if c.Addr != "pool.web" {
					continue
				}
				if tt.effect != "" && c.Effect != tt.effect {
					t.Errorf("effect %s, want %s", c.Effect, tt.effect)
				}
				if tt.effect == "" && slices.Contains(tt.want, "web") != (c.Effect == plan.MayRemove) {
					t.Errorf("effect %s", c.Effect)
				}
				if im := c.Impact; im.Removable != tt.removable || im.Rolled != tt.moved {
					t.Errorf("%d may be removed and %d are replaced, want %d and %d", im.Removable, im.Rolled, tt.removable, tt.moved)
				}
			}
			strict := head
			strict.Guards.MaxRolledNodes = config.Share{Text: "0"}
			if err := Guard(&p, strict, head, nil); err != nil {
				t.Fatal(err)
			}
			touches := s.Moved().Nodes > 0 || !s.Moved().Known
			if blocked := slices.ContainsFunc(p.Verdicts, func(v plan.Verdict) bool {
				return v.Guard == plan.MaxRolledNodes && v.Status == plan.Blocked
			}); blocked != touches {
				t.Errorf("max_rolled_nodes = 0 refuses: %v, want %v", blocked, touches)
			}
		})
	}
}

// TestLooserBudgetsAreFound asks Karpenter itself, of random pairs of budgets: if they ever
// allow more disruptions than before, of some number of nodes and for some reason, the change
// may remove nodes.
func TestLooserBudgetsAreFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 2))
	pick := func(from ...string) string { return from[rng.IntN(len(from))] }
	budget := func() map[string]any {
		b := map[string]any{"nodes": pick("0", "1", "2", "5", "0%", "1%", "10%", "50%", "99%", "100%", "99999999999999999999")}
		if rng.IntN(2) == 0 {
			b["schedule"] = pick("0 9 * * mon-fri", "0 9 * * 1-5", "0 10 * * *", "@daily", "0 0 * * *", "*/30 * * * *", "@every 1h",
				"0 9 * * 7")
			b["duration"] = pick("8h", "7h59m", "24h", "30m", "1h", "1m")
		}
		switch rng.IntN(4) {
		case 0:
			b["reasons"] = []any{pick("Drifted", "Empty", "Underutilized")}
		case 1:
			b["reasons"] = []any{"Drifted", pick("Empty", "Underutilized")}
		case 2:
			if rng.IntN(5) == 0 {
				b["reasons"] = []any{}
			}
		}
		return b
	}
	list := func() (all []any) {
		all = []any{}
		for range rng.IntN(4) {
			all = append(all, budget())
		}
		return all
	}
	object := func(budgets []any) config.Object {
		obj := map[string]any{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "web"},
			"spec": map[string]any{"disruption": map[string]any{"consolidateAfter": "1h",
				"consolidationPolicy": "WhenEmptyOrUnderutilized", "budgets": budgets},
				"template": map[string]any{"spec": map[string]any{"requirements": []any{}}}}}
		return config.Object{Addr: config.Addr{Type: "pool", Name: "web"}, Manifest: obj, Defaulted: obj}
	}
	typed := func(o config.Object) (pool karpv1.NodePool) {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Defaulted, &pool); err != nil {
			t.Fatal(err)
		}
		return pool
	}
	start := time.Date(2026, time.November, 16, 0, 0, 0, 0, time.UTC)
	looser, said := 0, 0
	for range 4000 {
		before := list()
		after := list()
		if rng.IntN(2) == 0 { // an edit of what was there
			after = slices.Clone(before)
			if len(after) > 0 && rng.IntN(2) == 0 {
				after[rng.IntN(len(after))] = budget()
			} else if len(after) > 0 && rng.IntN(2) == 0 {
				after = slices.Delete(after, 0, 1)
			} else {
				after = append(after, budget())
			}
		}
		old, now := object(before), object(after)
		p, err := plan.Diff(t.Context(), plan.State{Objects: []config.Object{old}}, plan.State{Objects: []config.Object{now}})
		if err != nil {
			t.Fatal(err)
		}
		loosens := len(p.Summary().Removable) > 0
		was, is, more := typed(old), typed(now), ""
		for range 60 {
			clock := schedule.ClockAt(start.Add(time.Duration(rng.IntN(7*24*60)) * time.Minute))
			nodes := 1 + rng.IntN(20)
			for _, reason := range []karpv1.DisruptionReason{
				karpv1.DisruptionReasonUnderutilized, karpv1.DisruptionReasonEmpty, karpv1.DisruptionReasonDrifted,
			} {
				allowed := func(pool karpv1.NodePool) int {
					return max(0, min(nodes, pool.MustGetAllowedDisruptions(clock, nodes, reason)))
				}
				if allowed(is) > allowed(was) {
					more = fmt.Sprintf("%s of %d nodes at %s: %d, and %d before", reason, nodes, clock.Now(), allowed(is), allowed(was))
				}
			}
		}
		if loosens {
			said++
		}
		if more != "" {
			looser++
		}
		if more != "" && !loosens {
			t.Fatalf("budgets are looser and it is not said: %s\nbefore %v\nafter  %v", more, before, after)
		}
	}
	t.Logf("%d of 4000 changes are looser, and %d are said to be", looser, said)
	if looser < 500 || said > looser*2 {
		t.Errorf("of 4000 changes %d are looser and %d are said to be: the samples or the rule tell little", looser, said)
	}
}

// TestEndOfARolloutLoosensNothing: that a wave's budget is taken off a pool is no change of the
// pool, and one of the pool's budgets is, also in the same change.
func TestEndOfARolloutLoosensNothing(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, after string
		loosens     bool
	}{
		{"the budget of the wave", disruption("WhenEmpty", "2h", `nodes = "1"`), false},
		{"a budget of the pool, too", disruption("WhenEmpty", "2h", `nodes = "2"`), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := compiledWhole(t, cluster5+fleet(disruption("WhenEmpty", "2h", `nodes = "1"`), ""))
			held := base
			held.Objects = slices.Clone(base.Objects)
			for i, o := range held.Objects {
				if o.Name() == "web" {
					if held.Objects[i], err = rollout.LimitReplacement(o, 0); err != nil {
						t.Fatal(err)
					}
					held.Objects[i].Defaulted = held.Objects[i].Manifest
				}
			}
			head := compiledWhole(t, cluster5+fleet(tt.after, ""))
			before, after, err := statesOf(held, head, prices, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			before.Unheld = rollout.WithoutWaveBudget
			p, err := plan.Diff(t.Context(), before, after)
			if err != nil {
				t.Fatal(err)
			}
			if loosens := len(p.Summary().Removable) > 0; loosens != tt.loosens {
				t.Errorf("nodes may be removed: %v, want %v: %+v", loosens, tt.loosens, p.Changes)
			}
		})
	}
}

const cluster5 = "cluster {\n  name   = \"dev\"\n  region = \"us-ord\"\n}\n"

// TestUnknownPriceIsNotZero: nodes of a plan type that the catalogue does not have make unknown
// what the nodes cost now, and a policy about it is not checked, or refuses the plan of a
// controller. One that is sold out has its price.
func TestUnknownPriceIsNotZero(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	c := compiled(t, fleet("", "policy \"cheap\" {\n  condition     = plan.cost.current < 1000\n  error_message = \"Too dear.\"\n}\n"))
	head := compiled(t, fleet("limits = { cpu = 8 }", ""))
	for _, tt := range []struct {
		planType string
		status   plan.Status
	}{
		{"g6-standard-4", plan.Passed}, {"g9-unheard-of-4", plan.Unknown}, {"", plan.Passed},
	} {
		t.Run(tt.planType, func(t *testing.T) {
			before, after, err := statesOf(c, head, prices, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			before.Nodes = []plan.Node{{Name: "a", Pool: "web", Labels: map[string]string{"node.kubernetes.io/instance-type": tt.planType}}}
			after.Nodes = before.Nodes
			after.Offers = nil // all are sold out
			p, err := plan.Diff(t.Context(), before, after)
			if err != nil {
				t.Fatal(err)
			}
			if known := tt.status == plan.Passed; (p.Current != nil) != known || (len(p.Notes) == 0) != known {
				t.Errorf("the nodes cost %v, notes %q", p.Current, p.Notes)
			}
			verdicts := plan.JudgePolicies(c.Policies, c.Guards, p.PolicyValue(), p.NullReasons())
			if len(verdicts) != 1 || verdicts[0].Status != tt.status {
				t.Errorf("%+v, want %s", verdicts, tt.status)
			}
			raw, err := p.PolicyJSON()
			if unknown := strings.Contains(string(raw), `"current":null`); err != nil || unknown != (tt.status == plan.Unknown) {
				t.Errorf("%s, %v", raw, err)
			}
		})
	}
}

// TestKnownMovesCountWhatGoesSooner: if it is known that Karpenter moves no node only after a change, wider
// requirements count none, and settings by which nodes go sooner count all.
func TestKnownMovesCountWhatGoesSooner(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	text := func(class, after, cpu string) string {
		return "node_class \"default\" {\n" + class + "}\npool \"web\" {\n" +
			"  node_class = node_class.default\n  requirements = { class = \"standard\", cpu = " + cpu + " }\n" +
			"  disruption {\n    consolidate_after = \"" + after + "\"\n  }\n}\n"
	}
	const late = "  consolidation {\n    before_paid_hour_ends = \"10m\"\n  }\n"
	for name, tt := range map[string]struct {
		before, after string
		want          int
	}{
		"wider requirements":         {text("", "1h", "4"), text("", "1h", "between(2, 4)"), 0},
		"a shorter time":             {text("", "1h", "4"), text("", "1m", "4"), 2},
		"any minute of a paid hour":  {text(late, "1h", "4"), text("", "1h", "4"), 2},
		"the last minutes of it now": {text("", "1h", "4"), text(late, "1h", "4"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			base, head := compiled(t, tt.before), compiled(t, tt.after)
			before, after, err := statesOf(base, head, prices, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			before.Nodes = stamped(t, []plan.Node{{Name: "a", Pool: "web"}, {Name: "b", Pool: "web"}}, base)
			after.Nodes, after.Moves = before.Nodes, plan.Moves{Known: true}
			p, err := plan.Diff(t.Context(), before, after)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Summary().NodesRemovable; got.Nodes != tt.want || !got.Known {
				t.Errorf("%+v may be removed, want %d", got, tt.want)
			}
		})
	}
}

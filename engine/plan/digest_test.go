package plan_test

import (
	"testing"

	"github.com/lkeplan/lkeplan/engine/plan"
)

// TestWhatMakesAnotherDigest: what happens to which objects, and whether their nodes stay;
// neither how many nodes those are, nor where a block stands.
func TestWhatMakesAnotherDigest(t *testing.T) {
	base := func() plan.Plan {
		return plan.Plan{Changes: []plan.Change{
			{Addr: "pool.a", Kind: "NodePool", Name: "a", UID: "1", Action: plan.Update, Effect: plan.InPlace,
				Fields: []plan.Field{{Path: "spec.weight", Before: 10, After: 20}}},
			{Addr: "pool.b", Kind: "NodePool", Name: "b", UID: "2", Action: plan.Delete, Effect: plan.DeleteNodes,
				Impact: &plan.Impact{Deleted: 5}},
		}}
	}
	want, err := base().Digest()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		change func(*plan.Plan)
		same   bool
	}{
		"nothing":                        {func(*plan.Plan) {}, true},
		"another number of nodes":        {func(p *plan.Plan) { p.Changes[1].Impact.Deleted = 6 }, true},
		"another address":                {func(p *plan.Plan) { p.Changes[0].Addr = "module.m.pool.a" }, true},
		"a block that moves":             {func(p *plan.Plan) { p.Changes = append(p.Changes, plan.Change{Name: "c", Action: plan.Keep}) }, true},
		"another value":                  {func(p *plan.Plan) { p.Changes[0].Fields[0].After = 30 }, false},
		"another object of the name":     {func(p *plan.Plan) { p.Changes[1].UID = "3" }, false},
		"a pool that stays":              {func(p *plan.Plan) { p.Changes = p.Changes[:1] }, false},
		"nodes that are replaced for it": {func(p *plan.Plan) { p.Changes[0].Effect = plan.Roll }, false},
		"a pool that another class rolls": {func(p *plan.Plan) {
			p.Changes = append(p.Changes, plan.Change{Name: "c", Action: plan.Keep, Effect: plan.Roll})
		}, false},
	} {
		p := base()
		tt.change(&p)
		if got, err := p.Digest(); err != nil || (got == want) != tt.same {
			t.Errorf("%s: the same digest %v, want %v; %v", name, got == want, tt.same, err)
		}
	}
}

package compare

import (
	"errors"
	"testing"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// TestFreshSaysWhatHasChanged since a plan was made, in words that are right for
// each action.
func TestFreshSaysWhatHasChanged(t *testing.T) {
	with := func(action plan.Action, more ...func(*plan.Change)) plan.Plan {
		c := plan.Change{Kind: "NodePool", Name: "web", UID: "1", Action: action}
		for _, m := range more {
			m(&c)
		}
		return plan.Plan{Changes: []plan.Change{c}}
	}
	uid := func(uid string) func(*plan.Change) { return func(c *plan.Change) { c.UID = uid } }
	field := func(before, after any) func(*plan.Change) {
		return func(c *plan.Change) {
			c.Fields = append(c.Fields, plan.Field{Path: "spec.weight", Before: before, After: after})
		}
	}
	setBy := func(owner string) func(*plan.Change) {
		return func(c *plan.Change) { c.Conflicts = []plan.Conflict{{Path: "spec.weight", Owner: owner}} }
	}
	for name, tt := range map[string]struct {
		planned, now plan.Plan
		want         string // of the reason; "" for none
	}{
		"the same":                   {with(plan.Update, field(1, 2)), with(plan.Update, field(1, 2)), ""},
		"done already":               {with(plan.Create), plan.Plan{}, ""},
		"moved in the configuration": {with(plan.Delete), with(plan.Keep), ""},
		"nothing was to be done": {plan.Plan{}, with(plan.Update, field(5, 2)),
			"it needed no change when the plan was created, and needs one now: spec.weight is 5"},
		"deleted":                   {with(plan.Update), with(plan.Create), "it has been deleted"},
		"deleted, without a change": {plan.Plan{}, with(plan.Create, field(nil, 2)), "it has been deleted"},
		"deleted, and unchanged":    {with(plan.Keep), with(plan.Create), "it has been deleted"},
		"created by another owner": {with(plan.Create), with(plan.Update),
			"it did not exist, and has been created"},
		"made again": {with(plan.Update), with(plan.Update, uid("2")),
			"it has been deleted and created again"},
		"another value": {with(plan.Update, field(1, 2)), with(plan.Update, field(5, 2)),
			"it has changed: spec.weight is 5"},
		"set already": {with(plan.Update, field(1, 2)), with(plan.Update),
			"it has changed: spec.weight is already 2"},
		"set by another owner": {with(plan.Update), with(plan.Update, setBy("jane")),
			"it has changed: spec.weight has been set by jane"},
		"unchanged, and now contested": {with(plan.Keep), with(plan.Keep, setBy("jane")),
			"it has changed: spec.weight has been set by jane"},
		"unchanged, and now updated": {with(plan.Keep), with(plan.Update),
			"it would not be changed when the plan was created, and would be updated now"},
		"orphaned, and now deleted": {with(plan.Forget), with(plan.Delete),
			"it would be orphaned when the plan was created, and would be deleted now"},
		"deleted, and now contested": {with(plan.Delete), with(plan.Keep, setBy("jane")),
			"it would be deleted when the plan was created, and would not be changed now"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Saved{Plan: tt.planned}.Fresh(tt.now)
			var stale StaleError
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("it is stale: %v", err)
			case tt.want == "":
			case !errors.As(err, &stale) || len(stale.Reasons) != 1 || stale.Reasons[0] != "NodePool web: "+tt.want:
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// TestAPermissionIsForTheNodesOfItsPlan: at the apply there may be more of them.
func TestAPermissionIsForTheNodesOfItsPlan(t *testing.T) {
	rolls := func(nodes int) plan.Plan {
		return plan.Plan{Nodes: 10, Counted: true, Changes: []plan.Change{{
			Addr: "pool.web", Kind: "NodePool", Name: "web", Action: plan.Update, Effect: plan.Roll,
			Impact: &plan.Impact{Known: true, Of: nodes, Rolled: nodes},
		}}}
	}
	saved := Saved{Plan: rolls(2), Allowed: []string{"max_rolled_nodes:pool.web"}}
	saved.Guards.MaxRolledNodes = config.Share{Text: "1", Number: 1}
	for _, tt := range []struct {
		nodes       int
		permissions []string
		refused     bool
	}{{2, nil, false}, {1, nil, false}, {3, nil, true}, {3, []string{"max_rolled_nodes:pool.web"}, false}} {
		now := rolls(tt.nodes)
		if err := saved.Judge(&now, tt.permissions); err != nil {
			t.Fatal(err)
		}
		if now.Refused() != tt.refused {
			t.Errorf("%d nodes, allowed %v: refused %v: %+v", tt.nodes, tt.permissions, now.Refused(), now.Verdicts)
		}
	}
}

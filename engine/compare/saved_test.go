package compare

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// savedPlan is a plan with each kind of value that can be unknown.
func savedPlan(t *testing.T) (Saved, string) {
	t.Helper()
	at, money := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), 12*catalog.Dollar
	place := diag.Range{Filename: "main.lke.hcl", Start: diag.Pos{Line: 3, Column: 1}, End: diag.Pos{Line: 3, Column: 9}}
	p := plan.Plan{
		Base: plan.Revision{Kind: "snapshot", Ref: "prod.json", Taken: at}, Head: plan.Revision{Kind: "dir", Ref: "prod"}, Now: at,
		Counted: true, Nodes: 3, Before: plan.Cost{Floor: money, Ceiling: plan.Ceiling{Monthly: money, AtLeast: true}},
		After: plan.Cost{FloorUnknown: true, Ceiling: plan.Ceiling{Unlimited: true}, By: []string{"cpu"}, Alone: &plan.Ceiling{Monthly: money}},
		Changes: []plan.Change{{
			Addr: "pool.web", Previous: "pool.old", Block: "pool", APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: "web", UID: "1",
			Source: place, Action: plan.Update, Effect: plan.Roll, Loosens: true, Sooner: true, Relabels: true, Because: []string{"node_class.a"},
			Old:    map[string]any{"spec": map[string]any{"weight": int64(1)}},
			Fields: []plan.Field{{Path: "spec.weight", Before: int64(1), After: int64(1) << 60, Effect: plan.Roll, Source: place, Owners: []string{"jane"}}},
			Before: &plan.Cost{Ceiling: plan.Ceiling{Monthly: money + 1}}, Current: &money, Impact: &plan.Impact{Known: true, Of: 3, Rolled: 2,
				Pace:  &plan.Pace{Next: at, Waits: true, Closed: []string{"0"}, Windows: []plan.Window{{From: at, Until: at.Add(time.Hour)}}},
				Holds: []plan.Held{{Hold: plan.Hold{Reason: plan.HeldByPDB, Object: "shop/web"}, Nodes: 1}}},
			Conflicts: []plan.Conflict{{Path: "spec.limits", Owner: "jane"}},
		}, {
			Addr: "buffer.b", Kind: "CapacityBuffer", Namespace: "shop", Name: "b", Action: plan.Forget, Prune: plan.Drained,
			Released: map[string]any{"spec": "x"}, Impact: &plan.Impact{},
		}},
		Drift:    []plan.Drift{{Addr: "pool.web", Kind: "NodePool", Name: "web", Path: "spec.limits", Live: "9", Owners: []string{"jane"}, Whole: "spec"}},
		Verdicts: []plan.Verdict{{Guard: "policy.a", Status: plan.Waiting, Limit: "2", Until: at, Source: place, Default: true}},
		Rolling:  []plan.Rolling{{Addr: "pool.old", Pool: "old", Of: 2, Condemned: &plan.Removal{Since: at, Nodes: 2, Soonest: at}}},
		Workloads: &plan.Workloads{Pods: 2, After: plan.Placed{Pods: 1, Unschedulable: 1, Monthly: plan.Amount(money)},
			Lost: []plan.Lost{{Workload: "Deployment web/api", Pods: 1, Reasons: []plan.PoolReason{{Text: "no pool <fits>"}}}}, Missing: []string{"x"}},
		Notes: []string{"a"},
	}
	s := Save(compile.Result{}, compile.Result{}, p, "v1", true, []string{"policy.a:*"}, at)
	s.OtherCluster = "prod"
	var b strings.Builder
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	return s, b.String()
}

func TestASavedPlanIsReadAsItWas(t *testing.T) {
	saved, text := savedPlan(t)
	read, err := ReadSaved(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(saved, read, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(plan.Pace{})); diff != "" {
		t.Errorf("(-saved +read)\n%s", diff)
	}
	was, err := saved.Plan.Digest()
	if is, err2 := read.Plan.Digest(); err != nil || err2 != nil || was != is {
		t.Errorf("the digest is %s, and was %s: %v %v", is, was, err, err2)
	}
}

// TestASavedPlanThatIsNotUnderstoodIsRefused: an apply would not do what was shown.
func TestASavedPlanThatIsNotUnderstoodIsRefused(t *testing.T) {
	_, text := savedPlan(t)
	for name, tt := range map[string]struct{ old, new, want string }{
		"another format":            {`"format_version":"2"`, `"format_version":"1"`, `but of "1"; create one with`},
		"no format":                 {`"format_version":"2",`, ``, `but of ""; create one with`},
		"a format that is a number": {`"format_version":"2"`, `"format_version":2`, "it is not a plan"},
		"an unknown member":         {`"made":`, `"until":"2026-11-20T10:00:00Z","made":`, `unknown field "until"`},
		"an unknown member inside":  {`"uid":"1"`, `"uid":"1","generation":2`, `unknown field "plan.changes[0].generation"`},
		"another case":              {`"prune":true`, `"Prune":true`, `unknown field "Prune"`},
		"a member that is twice":    {`"prune":true`, `"prune":true,"prune":false`, "prune"},
		"an amount in words":        {`"monthly":"12.00"`, `"monthly":"unknown"`, "it is not a plan"},
		"a truncated file":          {text[len(text)/2:], ``, "unexpected end of JSON input"},
		"two plans":                 {text, text + text, "it is not a plan"},
		"no time":                   {`"made":"2026-11-20T10:00:00Z"`, `"made":"0001-01-01T00:00:00Z"`, `"made" is missing`},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(text, tt.old, tt.new, 1)
			if changed == text {
				t.Fatalf("%s is not in %s", tt.old, text)
			}
			if _, err := ReadSaved(strings.NewReader(changed)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

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

package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// friday is a Friday morning, when the budgets of the plans below let none go.
var friday = time.Date(2026, time.November, 20, 10, 0, 0, 0, time.UTC)

func bounds(floor, ceiling int) *plan.Cost {
	return &plan.Cost{Floor: catalog.Money(floor) * catalog.Dollar, Ceiling: plan.Ceiling{Monthly: catalog.Money(ceiling) * catalog.Dollar}}
}

func money(dollars int) *catalog.Money {
	m := catalog.Money(dollars) * catalog.Dollar
	return &m
}

func lineIn(file string, n int) diag.Range {
	return diag.Range{Filename: file, Start: diag.Pos{Line: n, Column: 3}, End: diag.Pos{Line: n, Column: 20}}
}

func nodePool(name string, spec map[string]any) map[string]any {
	return map[string]any{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": name}, "spec": spec}
}

// office are the windows of the week from friday on, in which nodes go only
// outside working hours.
func office(nodes int) (list []plan.Window) {
	end := friday.AddDate(0, 0, 7)
	for day := friday.Truncate(24 * time.Hour); day.Before(end); day = day.AddDate(0, 0, 1) {
		if weekday := day.Weekday(); weekday == time.Saturday || weekday == time.Sunday {
			continue
		}
		list = append(list, plan.Window{From: day.Add(9 * time.Hour), Until: day.Add(17 * time.Hour)}, plan.Window{From: day.Add(17 * time.Hour), Nodes: nodes})
	}
	for i := range len(list) - 1 {
		list[i].Until = list[i+1].From
	}
	list[0].From, list[len(list)-2].Until = friday, end
	return list[:len(list)-1]
}

// rich is a plan with all parts of a report.
func rich() Report {
	general := plan.Change{
		Addr: "pool.general", Block: "pool", APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: "general", UID: "0b5f",
		Source: lineIn("pools/general.lke.hcl", 12), Action: plan.Update, Effect: plan.Roll, Because: []string{"node_class.default"},
		Old: nodePool("general", map[string]any{"limits": map[string]any{"cpu": "100"}}),
		New: nodePool("general", map[string]any{"limits": map[string]any{"cpu": "160"}}),
		Fields: []plan.Field{
			{Path: "spec.limits.cpu", Before: "100", After: "160", Effect: plan.InPlace, Source: lineIn("pools/general.lke.hcl", 18), Owners: []string{"lkeplan"}},
			{Path: "spec.template.spec.expireAfter", Before: "720h", After: "24h", Effect: plan.Roll, Source: lineIn("pools/general.lke.hcl", 31), Owners: []string{"jane", "lkeplan"}},
			{Path: "spec.template.spec.requirements[kubernetes.io/arch]", Before: []any{map[string]any{"key": "kubernetes.io/arch", "operator": "In", "values": []any{"amd64"}}}, Effect: plan.InPlace},
		},
		Before: bounds(0, 2880), After: bounds(0, 4608), Current: money(1008),
		Impact: &plan.Impact{
			Known: true, Of: 14, Rolled: 14, Expiring: 3,
			Pace: &plan.Pace{Wave: 2, Waves: 7, Closed: []string{`0 at "0 9 * * mon-fri" for 8h`}, Next: friday.Add(7 * time.Hour), Windows: office(2)},
			Holds: []plan.Held{
				{Hold: plan.Hold{Reason: plan.HeldByPDB, Object: "payments/api"}, Nodes: 2},
				{Hold: plan.Hold{Reason: plan.HeldByDoNotDisrupt, Object: "batch/import-7"}, Nodes: 1},
				{Hold: plan.Hold{Reason: plan.NoRoom, Object: "limits.cpu = 160 leaves no room for one more node beside the 14 existing nodes"}, Nodes: 14},
			},
		},
		Conflicts: []plan.Conflict{{Path: "spec.weight", Owner: "kubectl-edit"}},
	}
	batch := plan.Change{
		Addr: "pool.batch", Block: "pool", APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: "batch", UID: "1c2d",
		Source: lineIn("pools/batch.lke.hcl", 1), Action: plan.Delete, Effect: plan.DeleteNodes,
		Old: nodePool("batch", map[string]any{}), Before: bounds(96, 960), Current: money(480),
		Impact: &plan.Impact{Known: true, Of: 5, Deleted: 5},
	}
	jobs := plan.Change{
		Addr: "pool.jobs", Previous: "pool.work", Block: "pool", APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: "work",
		Source: lineIn("pools/jobs.lke.hcl", 1), Action: plan.Keep, Effect: plan.None,
		Old: nodePool("work", map[string]any{}), New: nodePool("work", map[string]any{}),
		Before: bounds(0, 480), After: bounds(0, 480), Current: money(0), Impact: &plan.Impact{Known: true},
	}
	gpu := plan.Change{
		Addr: "pool.gpu", Block: "pool", APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: "gpu",
		Source: lineIn("pools/gpu.lke.hcl", 1), Action: plan.Create, Effect: plan.None, New: nodePool("gpu", map[string]any{"weight": int64(5)}),
		Fields: []plan.Field{{Path: "spec.weight", After: int64(5), Effect: plan.None, Source: lineIn("pools/gpu.lke.hcl", 4)}},
		After:  &plan.Cost{Floor: 350 * catalog.Dollar, Ceiling: plan.Ceiling{Unlimited: true}},
	}
	kept := plan.Change{
		Addr: "pool.spare", Block: "pool", APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: "spare", Source: lineIn("pools/spare.lke.hcl", 1),
		Action: plan.Forget, Effect: plan.None, Old: nodePool("spare", map[string]any{}), New: nodePool("spare", map[string]any{}), Before: bounds(0, 480), After: bounds(0, 480),
	}
	class := plan.Change{
		Addr: "node_class.default", Block: "node_class", APIVersion: "karpenter.k8s.linode/v1", Kind: "LinodeNodeClass", Name: "default",
		Source: lineIn("classes.lke.hcl", 3), Action: plan.Update, Effect: plan.Roll,
		Old: map[string]any{"spec": map[string]any{}}, New: map[string]any{"spec": map[string]any{"tags": []any{"a"}}},
		Fields: []plan.Field{
			{Path: "spec.diskEncryption", Before: "disabled", After: "enabled", Effect: plan.Roll, Source: lineIn("classes.lke.hcl", 5)},
			{Path: "spec.tags", After: []any{"a"}, Effect: plan.InPlace, Source: lineIn("classes.lke.hcl", 7)},
			{Path: "spec.image", Before: "linode/debian12", Effect: plan.None},
		},
	}
	overlay := plan.Change{
		Addr: "overlay.dear", Block: "overlay", APIVersion: "karpenter.sh/v1alpha1", Kind: "NodeOverlay", Name: "dear",
		Source: lineIn("overlays.lke.hcl", 1), Action: plan.Update, Effect: plan.MayRemove, Old: map[string]any{"spec": map[string]any{}}, New: map[string]any{"spec": map[string]any{"price": "9"}},
		Fields: []plan.Field{{Path: "spec.price", After: "9", Effect: plan.MayRemove, Source: lineIn("overlays.lke.hcl", 3)}},
	}
	loosened := plan.Change{
		Addr: "pool.web", Block: "pool", APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: "web",
		Source: lineIn("pools/web.lke.hcl", 1), Action: plan.Keep, Effect: plan.MayRemove, Loosens: true, Because: []string{"overlay.dear"},
		Old: nodePool("web", map[string]any{}), New: nodePool("web", map[string]any{}),
		Before: bounds(0, 480), After: bounds(0, 480), Current: money(0), Impact: &plan.Impact{Known: true, Of: 7, Removable: 7},
	}
	return Report{
		Plan: plan.Plan{
			Base: plan.Revision{Kind: "git", Ref: "1f2c3d4a5b6c"}, Head: plan.Revision{Kind: "dir", Ref: "clusters/prod"}, Now: friday,
			Changes: []plan.Change{class, overlay, batch, general, gpu, jobs, kept, loosened},
			Drift: []plan.Drift{
				{Addr: "pool.general", Kind: "NodePool", Name: "general", Path: "spec.limits.memory", Live: "1Ti", Owners: []string{"kubectl-edit"}, Kept: true},
				{Addr: "pool.general", Kind: "NodePool", Name: "general", Path: "spec.template.metadata.labels[example.com/team]", Applied: "web", Live: "ops", Owners: []string{"jane", "kubectl-edit"}},
			},
			Verdicts: []plan.Verdict{
				{Guard: "max_deleted_pools", Status: plan.Passed, Limit: "1", Actual: "1"},
				{Guard: "max_rolled_nodes_percent", Addr: "pool.general", Status: plan.Blocked, Limit: "50", Actual: "100", Detail: "All 14 nodes of pool.general are replaced.", Source: lineIn("guards.lke.hcl", 4)},
				{Guard: "policy.no_gpu", Addr: "pool.gpu", Status: plan.Allowed, Detail: "GPUs need an approval; jane gave it."},
				{Guard: "protected", Addr: "pool.batch", Status: plan.Unknown, Detail: "No cluster was asked."},
			},
			Before: *bounds(96, 4320), After: plan.Cost{Floor: 350 * catalog.Dollar, Ceiling: plan.Ceiling{Monthly: 5088 * catalog.Dollar, Unlimited: true}}, Current: money(1488),
			Notes: []string{"The PodDisruptionBudgets of the namespace ops may not be read."},
			Workloads: &plan.Workloads{
				Pods:   45,
				Before: plan.Placed{Pods: 43, Unschedulable: 2, Nodes: 5, Monthly: plan.Amount(960 * catalog.Dollar)},
				After:  plan.Placed{Pods: 26, Unschedulable: 19, Nodes: 8, Monthly: plan.Amount(360 * catalog.Dollar)},
				PlanTypes: []plan.PlanType{
					{Pool: "batch", Name: "g6-standard-8", Before: plan.OnType{Pods: 43, Nodes: 5, Monthly: plan.Amount(960 * catalog.Dollar)}},
					{Pool: "general", Name: "g6-standard-4", After: plan.OnType{Pods: 26, Nodes: 8, Monthly: plan.Amount(360 * catalog.Dollar)}},
				},
				Lost: []plan.Lost{
					{Workload: "Deployment web/api", Pods: 17, Reasons: []plan.PoolReason{
						{Pool: "general", Text: "a node of any plan type of the pool would exceed the limits of the pool."},
						{Pool: "gpu", Text: "the pod does not tolerate nvidia.com/gpu:NoSchedule."},
					}},
					{Workload: "Job ops/report", Pods: 1, Reasons: []plan.PoolReason{{Text: "it asks for devices."}}},
				},
				Notes: []string{"NodeOverlay cheap is not simulated."},
			},
		},
		Picture: "<section class=\"simulated\">\n<h2>Before</h2>\n</section>\n",
		Diagnostics: []diag.Diagnostic{{
			Severity: "warning", Rule: "limits-block-roll", Summary: "The limits leave no room", Detail: "No node of pool.general can be replaced.",
			Range: &diag.Range{Filename: "pools/general.lke.hcl", Start: diag.Pos{Line: 18, Column: 3}, End: diag.Pos{Line: 18, Column: 12}},
		}},
		Digest: "sha256:0123456789abcdef", ExitCode: 3,
	}
}

// offline is a plan as a pull request gets it, without a cluster.
func offline() Report {
	r := Report{Plan: plan.Plan{Base: plan.Revision{Kind: "git", Ref: "1f2c3d4a5b6c"}, Before: *bounds(0, 9600), After: *bounds(0, 14400), Now: friday}}
	r.Changes = []plan.Change{{
		Addr: "pool.general", Block: "pool", APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: "general",
		Source: lineIn("clusters/prod/main.lke.hcl", 8), Action: plan.Update, Effect: plan.Roll,
		Old: nodePool("general", map[string]any{}), New: nodePool("general", map[string]any{}),
		Fields: []plan.Field{
			{Path: "spec.limits.cpu", Before: "400", After: "600", Effect: plan.InPlace, Source: lineIn("clusters/prod/main.lke.hcl", 11)},
			{Path: "spec.template.spec.expireAfter", Before: "720h", After: "336h", Effect: plan.Roll, Source: lineIn("clusters/prod/main.lke.hcl", 12)},
		},
		Before: bounds(0, 9600), After: bounds(0, 14400),
		Impact: &plan.Impact{Pace: &plan.Pace{Next: friday.Add(7 * time.Hour), Windows: office(1)}},
	}, {
		Addr: "pool.batch", Block: "pool", APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: "batch",
		Source: lineIn("clusters/prod/main.lke.hcl", 30), Action: plan.Delete, Effect: plan.DeleteNodes,
		Old: nodePool("batch", map[string]any{}), Before: bounds(0, 960), Impact: &plan.Impact{},
	}, {
		Addr: "pool.old", Block: "pool", APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: "old",
		Source: lineIn("clusters/prod/main.lke.hcl", 40), Action: plan.Delete, Effect: plan.Roll, Prune: plan.StartRemoval,
		Old: nodePool("old", map[string]any{}), Before: bounds(0, 960), Impact: &plan.Impact{},
	}, {
		Addr: "pool.web", Block: "pool", APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: "web",
		Source: lineIn("clusters/prod/main.lke.hcl", 20), Action: plan.Update, Effect: plan.MayRemove, Loosens: true,
		Old: nodePool("web", map[string]any{}), New: nodePool("web", map[string]any{}),
		Fields: []plan.Field{{Path: "spec.disruption.consolidateAfter", Before: "2h", After: "0s", Effect: plan.MayRemove, Source: lineIn("clusters/prod/main.lke.hcl", 22)}},
		Before: bounds(0, 960), After: bounds(0, 960), Impact: &plan.Impact{},
	}}
	r.Verdicts = []plan.Verdict{{Guard: "max_rolled_nodes", Status: plan.Unknown, Limit: "50%", Source: lineIn("guards.lke.hcl", 2),
		Detail: "Nodes would be replaced or may be removed, but their number is unknown without a cluster: add --nodes live or --nodes snapshot:FILE."}}
	return r
}

// moved is a plan for whose new pool Karpenter moves the nodes of another.
func moved() Report {
	r := Report{Plan: plan.Plan{Base: plan.Revision{Kind: "live"}, Before: *bounds(0, 960), After: *bounds(0, 1440), Current: money(144), Counted: true,
		Nodes: 2, Now: friday, Waves: true}}
	r.Changes = []plan.Change{{
		Addr: "pool.cheap", Block: "pool", APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: "cheap",
		Source: lineIn("main.lke.hcl", 20), Action: plan.Create, New: nodePool("cheap", map[string]any{}), After: bounds(0, 480),
	}, {
		Addr: "pool.web", Block: "pool", APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: "web",
		Source: lineIn("main.lke.hcl", 8), Action: plan.Keep, Effect: plan.MayRemove, Loosens: true, Because: []string{"pool.cheap"},
		Old: nodePool("web", map[string]any{}), New: nodePool("web", map[string]any{}), Before: bounds(0, 960), After: bounds(0, 960), Current: money(144),
		Impact: &plan.Impact{Known: true, Of: 3, Removable: 2, Moves: []plan.Move{
			{Node: "web-1", NodeName: "lke1-1", Pool: "web", Plan: "g6-dedicated-4", To: []string{"cheap g6-standard-2"}, Pods: 3, Saves: plan.Amount(48 * catalog.Dollar)},
			{Node: "web-2", NodeName: "lke1-2", Pool: "web", Plan: "g6-dedicated-4", Pods: 1, Saves: plan.Amount(72 * catalog.Dollar)},
		}},
	}}
	r.Verdicts = []plan.Verdict{{Guard: "max_rolled_nodes", Status: plan.Blocked, Limit: "0", Source: lineIn("guards.lke.hcl", 2),
		Detail: "2 of 3 nodes would be removed or replaced by Karpenter, and the limit is 0.", Permission: "max_rolled_nodes:pool.web"}}
	return r
}

// fleet is a plan of many pools: some are deleted, some roll, the others change
// in place.
func fleet(n int, value string) Report {
	r := Report{Plan: plan.Plan{Before: *bounds(0, n*100), After: *bounds(0, n*110), Current: money(n * 30), Now: friday}}
	for i := range n {
		c := plan.Change{
			Addr: fmt.Sprintf("pool.pool%04d", i), Block: "pool", Kind: "NodePool", Name: fmt.Sprintf("pool%04d", i), Action: plan.Update, Effect: plan.InPlace,
			Before: bounds(0, 100), After: bounds(0, 110), Current: money(30), Source: lineIn(fmt.Sprintf("pools/pool%04d.lke.hcl", i), 1),
			Impact: &plan.Impact{Known: true, Of: 3}, Old: map[string]any{}, New: map[string]any{},
		}
		switch {
		case i%20 == 0:
			c.Action, c.Effect, c.Impact.Deleted, c.New, c.After = plan.Delete, plan.DeleteNodes, 3, nil, nil
		case i%3 == 0:
			c.Effect, c.Impact.Rolled = plan.Roll, 3
			c.Impact.Pace = &plan.Pace{Wave: 1, Waves: 3, Next: friday.Add(7 * time.Hour), Windows: office(1)}
		}
		for j := range 8 {
			if c.Action != plan.Delete {
				c.Fields = append(c.Fields, plan.Field{Path: fmt.Sprintf("spec.limits.resource%d", j), Before: value, After: value + "!", Effect: c.Effect, Source: c.Source})
			}
		}
		r.Changes = append(r.Changes, c)
	}
	return r
}

// hostile is a plan in which each text that anybody may have chosen is the given
// one.
func hostile(text string) Report {
	subject := hcl.Range{Filename: text, Start: hcl.Pos{Line: 3, Column: 3}, End: hcl.Pos{Line: 3, Column: 20}}
	at := diag.RangeOf(subject)
	return Report{
		Plan: plan.Plan{
			Base: plan.Revision{Kind: "git", Ref: text}, Head: plan.Revision{Kind: "dir", Ref: text}, Now: friday,
			Changes: []plan.Change{{
				Addr: text, Previous: text, Block: "pool", Kind: "NodePool", Name: text, UID: text, Source: at, Action: plan.Update, Effect: plan.Roll, Because: []string{text},
				Old: nodePool(text, map[string]any{text: text}), New: nodePool(text, map[string]any{text: text}),
				Fields: []plan.Field{
					{Path: "spec.template.metadata.labels[" + text + "]", Before: text, After: text + text, Effect: plan.Roll, Source: at, Owners: []string{text}},
					{Path: "spec.template.spec.requirements[" + text + "]", After: []any{map[string]any{"key": text, "operator": "In", "values": []any{text}}}, Effect: plan.Roll},
					{Path: "spec.template.spec.taints[" + text + "]", Before: []any{map[string]any{"key": text, "value": text}}, Effect: plan.Roll},
					{Path: "spec.disruption.budgets", Before: []any{map[string]any{"nodes": text, "reasons": []any{text}, "schedule": text, "duration": text}}, Effect: plan.InPlace},
				},
				Before: bounds(0, 1), After: bounds(0, 2), Current: money(1),
				Impact: &plan.Impact{Known: true, Of: 1, Rolled: 1, Pace: &plan.Pace{Windows: office(1), Next: friday.Add(time.Hour), Closed: []string{text, text}}, Holds: []plan.Held{
					{Hold: plan.Hold{Reason: plan.HeldByPDB, Object: text}, Nodes: 1}, {Hold: plan.Hold{Reason: plan.NoRoom, Object: text}, Nodes: 1},
				}},
				Conflicts: []plan.Conflict{{Path: text, Owner: text}},
			}, {
				Addr: text, Block: "pool", Kind: "NodePool", Name: text, Source: at, Action: plan.Delete, Effect: plan.DeleteNodes, Old: nodePool(text, nil), Before: bounds(0, 1),
			}},
			Rolling:  []plan.Rolling{{Addr: text, Pool: text, Of: 3, Outdated: 2, Joining: 1, Pace: &plan.Pace{Closed: []string{text}, Never: true}, Holds: []plan.Held{{Hold: plan.Hold{Reason: plan.HeldByPDB, Object: text}, Nodes: 2}}}},
			Drift:    []plan.Drift{{Addr: text, Kind: "NodePool", Name: text, Path: "spec." + text, Applied: text, Live: text, Owners: []string{text}}},
			Verdicts: []plan.Verdict{{Guard: text, Addr: text, Status: plan.Blocked, Limit: text, Actual: text, Detail: text, Source: at}},
			Notes:    []string{text},
			Workloads: &plan.Workloads{
				PlanTypes: []plan.PlanType{{Pool: text, Name: text}},
				Lost:      []plan.Lost{{Workload: text, Pods: 1, Reasons: []plan.PoolReason{{Pool: text, Text: text}, {Text: text}}}},
				Notes:     []string{text},
			},
		},
		Diagnostics: diag.New(hcl.Diagnostics{{Severity: hcl.DiagWarning, Summary: text, Detail: text, Subject: &subject}}, nil),
		Digest:      text,
	}
}

// hostileTexts would steer one reader of a report or another.
var hostileTexts = []string{
	"\x1b[31mred\x1b]0;title\x07", "\u009b31m", "a\r\nb", "\n::error file=x::gotcha", "::set-output name=x::y", "##[error]x",
	"</details></summary><script>alert(1)</script><img src=x onerror=alert(1)>", "<!-- --> -->", "```\n# heading\n````",
	"@admin and #1 and GH-1 and https://example.com/x", "a|b\\|c\\\\|d", "[x](javascript:alert(1)) ![x](https://example.com/p.png)",
	"\u202egnp.exe\u202c", "z\u200bw\u2060j\ufeff", "\U000e0041tag", "\xff\xfe", "]]></failure>", "\"'><b onload=x>", "{{.}} ${{ secrets.X }}",
	"EOF\nchanges=0\nEOF", "`", "``` `` `", "a\u2028b\u0085c", "_*~**__\\", strings.Repeat("x", 300),
}

// several is a report of five directories: one that is refused, one whose nodes
// roll, one without changes, one without a plan, and one whose pools change alike.
func several() Report {
	parts := []Report{rich(), offline(), {Plan: plan.Plan{Base: rich().Base}}, {Failed: "2 errors"}, fleet(12, "x")}
	for i, name := range []string{"clusters/prod", "clusters/dev", "clusters/idle", "clusters/bad", "clusters/many"} {
		parts[i].Directory = name
	}
	parts[3].Diagnostics = []diag.Diagnostic{{
		Severity: "error", Rule: "unknown-reference", Summary: "Unknown reference", Detail: "There is no node_class named x.",
		Range: &diag.Range{Filename: "clusters/bad/main.lke.hcl", Start: diag.Pos{Line: 3, Column: 1}, End: diag.Pos{Line: 3, Column: 9}},
	}}
	r := Join(parts, []string{"clusters/a", "clusters/b"})
	r.ExitCode = 1
	return r
}

// hostileParts are directories in which each text is the given one.
func hostileParts(text string) Report {
	parts := []Report{hostile(text), hostile(text), {Failed: text}, {}}
	for i := range parts {
		parts[i].Directory = text
	}
	return Join(parts, []string{text})
}

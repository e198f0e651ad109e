package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// A plan as JSON is one document. The member resource_changes has the shape of Terraform's plans, so that tools that
// scan those for deletions work; fields, effects and impact are specific to lkeplan. The types are not those of
// package plan, because saved plans store those by the names of their Go fields.

// FormatVersion is the version of the JSON format.
const FormatVersion = "1"

// document returns the report of one directory as JSON.
func (r Report) document(o Options) Document {
	doc := Document{
		FormatVersion: FormatVersion, Version: o.Version, Complete: len(r.Notes) == 0,
		Base: revisionOf(r.Base), Head: revisionOf(r.Head), Rules: revisionOf(r.Rules), Digest: r.Digest, Catalog: r.Catalog, Repriced: r.Repriced,
		Changes: []resourceChange{}, Drift: driftOf(r.Drift), Guards: []guard{},
		Diagnostics: append([]diag.Diagnostic{}, r.Diagnostics...), Notes: append([]string{}, r.Notes...),
		Cost: costsOf(r.Plan), Summary: summaryOf(r.Plan),
		Workloads: workloadsOf(r.Workloads),
	}
	doc.Errored = slices.ContainsFunc(r.Diagnostics, func(d diag.Diagnostic) bool { return d.Severity == "error" })
	doc.Applyable = !r.Empty() && !r.Refused() && !doc.Errored
	for _, c := range r.Changes {
		doc.Changes = append(doc.Changes, resourceChangeOf(c))
		doc.Applyable = doc.Applyable && len(c.Conflicts) == 0
	}
	for _, rolls := range r.Rolling {
		doc.Rolling = append(doc.Rolling, rollingOf(rolls))
	}
	for _, v := range r.Verdicts {
		doc.Guards = append(doc.Guards, guard{v.Guard, v.Addr, v.Status, v.Limit, v.Actual, v.Detail, timeOrNil(v.Until),
			v.Permission, sourceOf(v.Source)})
	}
	return doc
}

// Document is the whole plan. The doc tags are the descriptions in the schema.
type Document struct {
	FormatVersion string            `json:"format_version" doc:"The version of this format."`
	Version       string            `json:"lkeplan_version,omitempty" doc:"The version of the program that wrote it."`
	Applyable     bool              `json:"applyable" doc:"Whether the plan has changes to apply and is not refused."`
	Complete      bool              `json:"complete" doc:"Whether everything could be checked. Otherwise notes list what could not."`
	Errored       bool              `json:"errored"`
	Base          *revision         `json:"base,omitempty" doc:"The state that the head is compared with."`
	Head          *revision         `json:"head,omitempty"`
	Rules         *revision         `json:"rules,omitempty" doc:"The revision of the guards and policies, if it is not the base."`
	Digest        string            `json:"plan_digest,omitempty" doc:"Of the saved plan."`
	Changes       []resourceChange  `json:"resource_changes" doc:"The changes, by address."`
	Drift         []resourceDrift   `json:"resource_drift" doc:"Manual edits and changes by other programs in the cluster, by address."`
	Rolling       []rolling         `json:"rolling,omitempty" doc:"Pools whose nodes are still draining, joining or being replaced."`
	Catalog       string            `json:"catalog,omitempty" doc:"The price catalogue; absent for the built-in one."`
	Repriced      bool              `json:"catalog_changes,omitempty" doc:"Whether the change alters the price catalogue. All costs are then at the higher of the old and the new prices."`
	Workloads     *workloads        `json:"workloads,omitempty" doc:"What happens to pods, if they are simulated."`
	Guards        []guard           `json:"guards" doc:"The verdicts of guards and policies."`
	Diagnostics   []diag.Diagnostic `json:"diagnostics" doc:"The diagnostics of the configuration."`
	Notes         []string          `json:"notes" doc:"What could not be checked."`
	Cost          *cost             `json:"cost" doc:"Of all pools together."`
	Summary       summary           `json:"summary"`
}

type revision struct {
	Kind  string     `json:"kind" doc:"git, dir, live, snapshot or plan."`
	Ref   string     `json:"ref,omitempty" doc:"A commit, a path, or a context and its server."`
	Why   string     `json:"why,omitempty" doc:"Why this revision was chosen: the branch that it is the merge base with, and where the name of that branch comes from."`
	Taken *time.Time `json:"taken,omitempty" doc:"When the cluster was read, for a snapshot."`
}

func revisionOf(r plan.Revision) *revision {
	if r.Kind == "" {
		return nil
	}
	return &revision{r.Kind, r.Ref, r.Why, timeOrNil(r.Taken)}
}

// timeOrNil returns nil for the zero time.
func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

type resourceChange struct {
	Address  string            `json:"address" doc:"Of the block, such as pool.general."`
	Previous string            `json:"previous_address,omitempty" doc:"The address in the base, for a block that was moved."`
	Mode     string            `json:"mode" doc:"Always managed."`
	Type     string            `json:"type" doc:"The type of the block, such as pool or node_class."`
	Name     string            `json:"name" doc:"Of the object in the cluster."`
	Object   object            `json:"object"`
	Source   *diag.Range       `json:"source,omitempty" doc:"The place of the block. That of a deleted block is in the base."`
	Change   alteration        `json:"change"`
	Reason   string            `json:"action_reason,omitempty" doc:"update_rolls_nodes, update_may_remove_nodes, update_in_place or delete_because_no_resource_config."`
	Effect   plan.Effect       `json:"effect" doc:"The most disruptive effect of all fields on existing nodes."`
	Partial  bool              `json:"partial,omitempty" doc:"For the effect roll: only nodes that no longer match are replaced."`
	Loosens  bool              `json:"loosens,omitempty" doc:"Whether Karpenter may also remove nodes that the effect keeps."`
	Prune    plan.RemovalStage `json:"prune,omitempty" doc:"The removal of a pool. condemn: the pool is no longer declared, drains its nodes within its budgets, and is deleted after them. drained: all its nodes have drained, and it is deleted. reprieve: the pool was draining, is declared again, and keeps its remaining nodes."`
	Outside  bool              `json:"outside,omitempty" doc:"True for a pool that the directory does not declare, and whose nodes are replaced because of their class. Its address is its kind and name, such as NodePool batch."`
	Because  []string          `json:"because,omitempty" doc:"The other objects because of which nodes of this pool are or may be replaced or removed: the addresses of its class, of overlays, buffers and limits blocks, and of pools that add or lose capacity."`
	Attracts []string          `json:"attracts,omitempty" doc:"If the pods of the cluster are unknown, and the change adds capacity to a pool or takes some from it: the other pools whose pods may move because of it, and those whose pods cannot, with the reason. Capacity is added by a new pool, more replicas, larger limits, wider requirements, fewer taints or other labels. It is taken by a deleted pool, smaller limits, narrower requirements, more taints, other labels, or replicas in place of nodes for pods."`
	Fields   []field           `json:"fields" doc:"What changes, by path."`
	Impact   *impact           `json:"impact,omitempty" doc:"What happens to the nodes of a pool."`
	Cost     *cost             `json:"cost,omitempty" doc:"The cost of a pool."`
	// An apply with Conflicts is refused.
	Conflicts []conflict `json:"conflicts,omitempty" doc:"Fields that another owner has set to another value. An apply is refused."`
}

type object struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid,omitempty" doc:"Of the object in the cluster, if a cluster was read."`
}

func sourceOf(r hcl.Range) *diag.Range {
	if r.Filename == "" {
		return nil
	}
	return diag.RangeOf(r)
}

// alteration has the shape of Terraform's.
type alteration struct {
	Actions         []plan.Action  `json:"actions"`
	Before          map[string]any `json:"before" doc:"The object as the API server stores it; null if there is none."`
	After           map[string]any `json:"after" doc:"The object as the API server would store it; null if there is none."`
	AfterUnknown    struct{}       `json:"after_unknown" doc:"Always empty."`
	BeforeSensitive struct{}       `json:"before_sensitive" doc:"Always empty: sensitive values are refused."`
	AfterSensitive  struct{}       `json:"after_sensitive" doc:"Always empty."`
}

type field struct {
	Path    string      `json:"path" doc:"Such as spec.limits.cpu. An element of a list is named by its key: spec.template.spec.requirements[kubernetes.io/arch]."`
	Before  any         `json:"before" doc:"Null if there was no value."`
	After   any         `json:"after" doc:"Null if there is no value."`
	Effect  plan.Effect `json:"effect" doc:"roll: nodes are replaced, within the disruption budgets. may_remove_nodes: Karpenter may remove or replace matching nodes within the disruption budgets, sooner than before, more at a time, or for other reasons. in_place: the change takes effect immediately and every node stays. delete_nodes: nodes are deleted immediately, regardless of budgets. none: no controller acts on the field."`
	Partial bool        `json:"partial,omitempty" doc:"For the effect roll: only nodes that no longer match are replaced."`
	Source  *diag.Range `json:"source,omitempty"`
	Owners  []string    `json:"owners,omitempty" doc:"The field managers of the live field."`
}

type conflict struct {
	Path   string `json:"path"`
	Owner  string `json:"owner" doc:"The field manager."`
	Holder string `json:"holder,omitempty" doc:"The NodePlan that manages the whole object."`
}

func resourceChangeOf(c plan.Change) resourceChange {
	r := resourceChange{
		Address: c.Addr, Previous: c.Previous, Mode: "managed", Type: c.Block, Name: c.Name,
		Object: object{c.APIVersion, c.Kind, c.Name, c.UID}, Source: sourceOf(c.Source),
		Change: alteration{Actions: []plan.Action{c.Action}, Before: c.Old, After: c.New},
		Reason: effectReason(c), Effect: c.Effect, Partial: c.Partial, Loosens: c.Loosens, Prune: c.Prune,
		Outside: c.Outside, Because: c.Because, Attracts: c.Attracts,
		Fields: []field{}, Impact: impactOf(c.Impact),
	}
	for _, f := range c.Fields {
		r.Fields = append(r.Fields, field{f.Path, f.Before, f.After, f.Effect, f.Partial, sourceOf(f.Source), f.Owners})
	}
	if c.Before != nil || c.After != nil {
		r.Cost = costOf(c.Before, c.After, c.Current)
	}
	for _, found := range c.Conflicts {
		r.Conflicts = append(r.Conflicts, conflict(found))
	}
	return r
}

func effectReason(c plan.Change) string {
	switch {
	case c.Action == plan.Delete:
		return "delete_because_no_resource_config"
	case c.Effect == plan.Roll:
		return "update_rolls_nodes"
	case c.Effect == plan.MayRemove:
		return "update_may_remove_nodes"
	case c.Action == plan.Update:
		return "update_in_place"
	}
	return ""
}

type guard struct {
	ID      string      `json:"id" doc:"Such as max_deleted_pools, or policy.NAME."`
	Address string      `json:"address,omitempty" doc:"The address that the verdict is about; absent for the whole plan."`
	Status  plan.Status `json:"status" doc:"blocked: the plan is refused. allowed: it would be blocked, and a permission allows it. unknown: not checked, because it counts nodes and no cluster was read. waiting: the plan has to wait until a time."`
	Limit   string      `json:"limit,omitempty" doc:"The limit of the guard."`
	Actual  string      `json:"actual,omitempty" doc:"The actual value of the plan."`
	Detail  string      `json:"detail,omitempty"`
	Until   *time.Time  `json:"until,omitempty" doc:"When a waiting plan can be applied; absent if never."`
	Allow   string      `json:"permission,omitempty" doc:"The value of --allow that lifts the guard."`
	Source  *diag.Range `json:"source,omitempty"`
}

type summary struct {
	Add          int      `json:"add"`
	Change       int      `json:"change"`
	Destroy      int      `json:"destroy"`
	Move         int      `json:"move"`
	Forget       int      `json:"forget" doc:"Objects that stay unchanged and are no longer managed."`
	NodesRolled  *int     `json:"nodes_rolled" doc:"Null if such pools exist and no cluster was read."`
	NodesDeleted *int     `json:"nodes_deleted" doc:"Null if such pools exist and no cluster was read."`
	NodesDrained *int     `json:"nodes_drained" doc:"Nodes of draining pools; null if such pools exist and no cluster was read."`
	NodesMay     *int     `json:"nodes_removable" doc:"Other nodes that Karpenter may remove or replace because of the change; null if such pools exist and no cluster was read."`
	Rolled       []string `json:"pools_rolled" doc:"The addresses of pools whose nodes are replaced."`
	Deleted      []string `json:"pools_deleted" doc:"The addresses of pools whose nodes are deleted immediately."`
	Condemned    []string `json:"pools_condemned" doc:"The addresses of pools that drain their nodes and are then deleted."`
	Removable    []string `json:"pools_removable" doc:"The addresses of pools whose nodes Karpenter may remove because of the change. If the pools are unknown, the address of the node class, overlay or buffer."`
	Conflicts    int      `json:"conflicts" doc:"Number of fields that others have set to other values. An apply is refused."`
	Refused      bool     `json:"refused" doc:"Whether a guard or policy blocks the plan."`
}

func summaryOf(p plan.Plan) summary {
	s := p.Summary()
	return summary{
		Add: s.Create, Change: s.Update, Destroy: s.Delete, Move: s.Move, Forget: s.Forget,
		NodesRolled: s.NodesRolled.Number(), NodesDeleted: s.NodesDeleted.Number(),
		NodesDrained: s.NodesDrained.Number(), NodesMay: s.NodesRemovable.Number(),
		// JSON has no null for an empty list.
		Rolled: append([]string{}, s.Rolled...), Deleted: append([]string{}, s.Deleted...),
		Condemned: append([]string{}, s.Condemned...), Removable: append([]string{}, s.Removable...),
		Conflicts: s.Conflicts, Refused: p.Refused(),
	}
}

// impact is the effect on the nodes of a pool, as JSON.
type impact struct {
	Certainty string        `json:"certainty" doc:"exact: the nodes were counted. static: no cluster was read."`
	Nodes     *nodeCount    `json:"nodes,omitempty" doc:"Absent if no cluster was read."`
	Upgrade   string        `json:"kubernetes_version,omitempty" doc:"Old and new version of the replaced nodes."`
	Budget    *budgetReport `json:"budget,omitempty" doc:"When the budgets allow the replacements."`
	Holds     []hold        `json:"holds,omitempty" doc:"What keeps nodes from being replaced."`
	Moves     []nodeMove    `json:"moves,omitempty" doc:"The nodes that Karpenter's consolidation removes or replaces because of the change, if the pods of the cluster are known."`
}

type nodeMove struct {
	Node  string   `json:"node" doc:"The name of the NodeClaim."`
	Plan  string   `json:"plan_type"`
	To    []string `json:"replaced_by,omitempty" doc:"Pool and plan type of the new nodes; absent if the pods fit on other nodes."`
	Pods  int      `json:"pods" doc:"How many pods move, with those of other nodes that go in the same step."`
	Saves amount   `json:"saves_monthly" doc:"In dollars, with other nodes that go in the same step."`
	When  string   `json:"when,omitempty" doc:"What must happen before, such as the end of a pod that holds the node; absent if nothing must."`
}

type nodeCount struct {
	Of        int `json:"of" doc:"Nodes of the pool."`
	Rolled    int `json:"rolled" doc:"Nodes that are replaced because of the change."`
	Deleted   int `json:"deleted" doc:"Nodes that are deleted immediately."`
	Relabeled int `json:"relabeled" doc:"Nodes whose labels or annotations change in place."`
	Removable int `json:"removable" doc:"Other nodes that Karpenter may remove or replace because of the change."`
	Expiring  int `json:"expiring" doc:"Nodes that expire within a week, regardless of budgets."`
}

type budgetReport struct {
	Now     int        `json:"allowed_now" doc:"Nodes that may be disrupted now. Without a cluster, 1 means at least one."`
	Wave    int        `json:"per_wave" doc:"Nodes at a time when the budgets next allow disruptions; 0 without a cluster."`
	Waves   int        `json:"waves" doc:"Batches until all nodes are replaced; 0 if they never are, or were not counted."`
	Next    *time.Time `json:"next_window,omitempty" doc:"When the budgets next allow a disruption, if they allow none now."`
	Never   bool       `json:"never" doc:"The budgets allow no disruption within a year."`
	Closed  []string   `json:"closed_by" doc:"The budgets that allow no disruption now."`
	Windows []window   `json:"windows" doc:"The next week, without gaps."`
}

type window struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
	Nodes int       `json:"nodes" doc:"Nodes that may be disrupted at a time. Without a cluster, 1 means at least one."`
}

type hold struct {
	Reason plan.HoldReason `json:"reason"`
	Object string          `json:"object" doc:"What blocks the nodes; a sentence for limits."`
	Nodes  int             `json:"nodes" doc:"How many nodes it blocks."`
}

// rolling is a pool whose nodes are still draining, joining or being replaced.
type rolling struct {
	Address   string        `json:"address"`
	Name      string        `json:"name" doc:"Of the NodePool."`
	Of        int           `json:"of" doc:"Nodes of the pool."`
	Outdated  int           `json:"outdated" doc:"Nodes that are still to be replaced."`
	Joining   int           `json:"joining" doc:"Machines that have not joined the cluster yet."`
	Condemned *removal      `json:"condemned,omitempty" doc:"The removal of a pool that is no longer declared: it drains its nodes and is then deleted."`
	Budget    *budgetReport `json:"budget,omitempty"`
	Holds     []hold        `json:"holds,omitempty" doc:"What keeps nodes from being replaced."`
}

// removal is the start of the removal of a pool, and its expected end.
type removal struct {
	Since   *time.Time `json:"since,omitempty"`
	Nodes   int        `json:"nodes" doc:"Nodes of the pool at that time."`
	Soonest *time.Time `json:"soonest_end,omitempty" doc:"The earliest time at which the budgets allow the last node to drain; absent if that is not within a week."`
}

func removalOf(r plan.Rolling) *removal {
	if r.Condemned == nil {
		return nil
	}
	s := &removal{Since: timeOrNil(r.Condemned.Since), Nodes: r.Condemned.Nodes}
	if r.Pace != nil {
		s.Soonest = timeOrNil(r.Pace.Soonest(r.Of))
	}
	return s
}

func rollingOf(r plan.Rolling) rolling {
	return rolling{
		Address: r.Addr, Name: r.Pool, Of: r.Of, Outdated: r.Outdated, Joining: r.Joining,
		Condemned: removalOf(r), Budget: budgetOf(r.Pace), Holds: holdsOf(r.Holds),
	}
}

func budgetOf(p *plan.Pace) *budgetReport {
	if p == nil {
		return nil
	}
	b := &budgetReport{p.Now, p.Wave, p.Waves, timeOrNil(p.Next), p.Never, append([]string{}, p.Closed...), []window{}}
	for _, w := range p.Windows {
		b.Windows = append(b.Windows, window{w.From.UTC(), w.Until.UTC(), w.Nodes})
	}
	return b
}

func holdsOf(held []plan.Held) (holds []hold) {
	for _, h := range held {
		holds = append(holds, hold{h.Reason, h.Object, h.Nodes})
	}
	return holds
}

func impactOf(im *plan.Impact) *impact {
	if im == nil {
		return nil
	}
	r := &impact{Certainty: "static", Upgrade: im.Upgrade}
	if im.Known {
		r.Certainty = "exact"
		r.Nodes = &nodeCount{im.Of, im.Rolled, im.Deleted, im.Relabeled, im.Removable, im.Expiring}
	}
	r.Budget, r.Holds = budgetOf(im.Pace), holdsOf(im.Holds)
	for _, m := range im.Moves {
		r.Moves = append(r.Moves, nodeMove{m.Node, m.Plan, m.To, m.Pods, amount(Dollars(m.Saves)), m.When})
	}
	return r
}

// amount is money in dollars, as a string so that no reader takes it for a float.
type amount string

// Dollars writes money in dollars with two decimal places.
func Dollars(m catalog.Money) string {
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	cents := (m + catalog.Dollar/200) / (catalog.Dollar / 100)
	return fmt.Sprintf("%s%d.%02d", sign, cents/100, cents%100)
}

func amountOf(m catalog.Money) *amount {
	a := amount(Dollars(m))
	return &a
}

const (
	unlimited amount = "unlimited"
	unknown   amount = "unknown"
)

// cost is the cost of pools, as JSON.
type cost struct {
	Currency  string      `json:"currency" doc:"Always USD."`
	Monthly   monthlyCost `json:"monthly"`
	LimitedBy []string    `json:"limited_by" doc:"The limits that determine ceiling_after: cpu, memory and nodes of the pool, and addresses of limits blocks."`
}

type monthlyCost struct {
	Current        *amount `json:"current" doc:"The cost of the live nodes; null if no cluster was read."`
	FloorBefore    *amount `json:"floor_before" doc:"The cost of the nodes that always exist. Null if there was no pool, unknown if a price is unknown."`
	FloorAfter     *amount `json:"floor_after"`
	CeilingBefore  *amount `json:"ceiling_before" doc:"The maximum that the limits allow. Null if there was no pool, unknown if a pool allows a plan type whose price is unknown."`
	CeilingAfter   *amount `json:"ceiling_after"`
	UncappedBefore *amount `json:"ceiling_uncapped_before" doc:"The maximum that the limits of the pools allow, without limits blocks."`
	UncappedAfter  *amount `json:"ceiling_uncapped_after"`
}

// costsOf returns the costs of all pools of a plan.
func costsOf(p plan.Plan) *cost {
	if p.Incomplete {
		return costOf(nil, nil, nil)
	}
	return costOf(&p.Before, &p.After, p.Current)
}

func costOf(before, after *plan.Cost, current *catalog.Money) *cost {
	c := &cost{Currency: "USD", LimitedBy: []string{}}
	if current != nil {
		c.Monthly.Current = amountOf(*current)
	}
	bounds := func(c *plan.Cost) (floor, ceiling, uncapped *amount) {
		if c == nil {
			return nil, nil, nil
		}
		floor = amountOf(c.Floor)
		if c.FloorUnknown {
			*floor = unknown
		}
		return floor, ceilingOf(c.Ceiling), ceilingOf(c.Uncapped())
	}
	c.Monthly.FloorBefore, c.Monthly.CeilingBefore, c.Monthly.UncappedBefore = bounds(before)
	c.Monthly.FloorAfter, c.Monthly.CeilingAfter, c.Monthly.UncappedAfter = bounds(after)
	if after != nil {
		c.LimitedBy = append(c.LimitedBy, after.By...)
	}
	return c
}

func ceilingOf(c plan.Ceiling) *amount {
	a := amountOf(c.Monthly)
	switch {
	case c.Unlimited:
		*a = unlimited
	case c.AtLeast:
		*a = unknown
	}
	return a
}

// resourceDrift is the drift of one object, in the shape of a change.
type resourceDrift struct {
	Address string         `json:"address"`
	Mode    string         `json:"mode" doc:"Always managed."`
	Type    string         `json:"type"`
	Name    string         `json:"name"`
	Object  object         `json:"object"`
	Change  alteration     `json:"change" doc:"The drifted fields only: before is the applied value, after the live one."`
	Fields  []driftedField `json:"fields"`
}

type driftedField struct {
	Path    string   `json:"path"`
	Applied any      `json:"applied" doc:"Null if nothing was applied."`
	Live    any      `json:"live"`
	Owners  []string `json:"owners" doc:"The field managers that set it."`
	Kept    bool     `json:"kept" doc:"Whether an apply keeps the live value. Otherwise the apply is refused."`
	Detail  string   `json:"detail,omitempty" doc:"The consequences, in sentences."`
}

// driftOf joins the fields of each object. They come sorted by address.
func driftOf(fields []plan.Drift) []resourceDrift {
	list := []resourceDrift{}
	for _, d := range fields {
		last := len(list) - 1
		if last < 0 || list[last].Address != d.Addr || list[last].Object.Kind != d.Kind {
			list = append(list, resourceDrift{
				Address: d.Addr, Mode: "managed", Type: schemas.TypeOf(d.Kind), Name: d.Name,
				Object: object{Kind: d.Kind, Name: d.Name},
			})
			last++
		}
		list[last].Fields = append(list[last].Fields, driftedField{
			d.Path, d.Applied, d.Live, append([]string{}, d.Owners...), d.Kept, d.Detail,
		})
	}
	for i := range list {
		list[i].Change = alterationOf(list[i].Fields)
	}
	return list
}

// alterationOf returns an object with only the drifted fields, before and after.
func alterationOf(fields []driftedField) alteration {
	a := alteration{Actions: []plan.Action{plan.Update}, Before: map[string]any{}, After: map[string]any{}}
	for _, f := range fields {
		setPath(a.Before, f.Path, f.Applied)
		setPath(a.After, f.Path, f.Live)
	}
	return a
}

// setPath sets the value of a path, such as spec.limits.cpu, in an object. Brackets contain the key of a map, or name
// an element of a list.
func setPath(into map[string]any, path string, v any) {
	if v == nil {
		return
	}
	path, key, inBrackets := strings.Cut(strings.TrimSuffix(path, "]"), "[")
	keys := strings.Split(path, ".")
	elements, ofList := v.([]any)
	if inBrackets && !ofList {
		keys = append(keys, key)
	}
	last := len(keys) - 1
	parent := manifest.Ensure(into, keys[:last]...)
	if inBrackets && ofList {
		same, _ := parent[keys[last]].([]any)
		v = append(same, elements...)
	}
	parent[keys[last]] = v
}

// workloads is plan.Workloads as JSON.
type workloads struct {
	Pods      int        `json:"pods" doc:"Simulated pods. Each side is simulated in an empty cluster."`
	Before    placed     `json:"before"`
	After     placed     `json:"after"`
	PlanTypes []planType `json:"plan_types" doc:"The nodes on both sides, by pool and plan type."`
	Lost      []lost     `json:"newly_unschedulable" doc:"Pods that have a node before the change and none after it."`
	Notes     []string   `json:"notes" doc:"What was not simulated."`
	Missing   []string   `json:"missing,omitempty" doc:"Sources of pods that could not be read. The numbers leave their pods out."`
}

type placed struct {
	Pods          int    `json:"pods" doc:"Pods with a node."`
	Unschedulable int    `json:"unschedulable" doc:"Pods without a node."`
	Nodes         int    `json:"nodes"`
	Monthly       amount `json:"monthly" doc:"The monthly cost of the nodes, in US dollars."`
}

type planType struct {
	Pool   string `json:"pool" doc:"The name of the NodePool."`
	Name   string `json:"plan_type"`
	Before onType `json:"before"`
	After  onType `json:"after"`
}

type onType struct {
	Pods    int    `json:"pods"`
	Nodes   int    `json:"nodes"`
	Monthly amount `json:"monthly"`
}

type lost struct {
	Workload string       `json:"workload" doc:"Such as Deployment web/api."`
	Pods     int          `json:"pods"`
	Reasons  []poolReason `json:"reasons"`
}

type poolReason struct {
	Pool string `json:"pool,omitempty" doc:"The name of the NodePool; absent if the reason is the same for all pools."`
	Text string `json:"text"`
}

func workloadsOf(w *plan.Workloads) *workloads {
	if w == nil {
		return nil
	}
	out := &workloads{
		Pods: w.Asked(), Before: placedOf(w.Before), After: placedOf(w.After), PlanTypes: []planType{}, Lost: []lost{},
		Notes: append([]string{}, w.Notes...), Missing: w.Missing,
	}
	for _, t := range w.PlanTypes {
		out.PlanTypes = append(out.PlanTypes, planType{t.Pool, t.Name, onTypeOf(t.Before), onTypeOf(t.After)})
	}
	for _, l := range w.Lost {
		one := lost{Workload: l.Workload, Pods: l.Pods, Reasons: []poolReason{}}
		for _, r := range l.Reasons {
			one.Reasons = append(one.Reasons, poolReason(r))
		}
		out.Lost = append(out.Lost, one)
	}
	return out
}

func placedOf(p plan.Placed) placed {
	return placed{p.Pods, p.Unschedulable, p.Nodes, amount(Dollars(p.Monthly))}
}

func onTypeOf(p plan.Placed) onType { return onType{p.Pods, p.Nodes, amount(Dollars(p.Monthly))} }

package report

import (
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// A plan as JSON is one document, of the types of package plan. The types of this file are for what has another shape
// there than in a plan: the members resource_changes and resource_drift are shaped as in Terraform's plans, so that
// tools that scan those for deletions work; numbers of nodes are absent if they are unknown; and costs are by member,
// before and after.

// FormatVersion is the version of the JSON format.
const FormatVersion = "1"

// document returns the report of one directory as JSON.
func (r Report) document(o Options) Document {
	doc := Document{
		FormatVersion: FormatVersion, Version: o.Version, Complete: len(r.Notes) == 0,
		Base: r.Base, Head: r.Head, Rules: r.Rules, Digest: r.Digest, Catalog: r.Catalog, Repriced: r.Repriced,
		Drift: driftOf(r.Drift), Diagnostics: r.Diagnostics, Notes: r.Notes, Cost: costsOf(r.Plan), Summary: r.Summary(),
		Workloads: r.Workloads,
	}
	doc.Errored = slices.ContainsFunc(r.Diagnostics, func(d diag.Diagnostic) bool { return d.Severity == "error" })
	doc.Applyable = !r.Empty() && !r.Refused() && !doc.Errored
	for _, c := range r.Changes {
		doc.Changes = append(doc.Changes, resourceChangeOf(c))
		doc.Applyable = doc.Applyable && len(c.Conflicts) == 0
	}
	for _, rolls := range r.Rolling {
		rolls.Pace = withoutWaits(rolls.Pace)
		doc.Rolling = append(doc.Rolling, rolls)
	}
	for _, v := range r.Verdicts {
		v.Default = false // only saved plans have it
		doc.Guards = append(doc.Guards, v)
	}
	return doc
}

// withoutWaits returns when budgets allow disruptions without the member that only saved plans have.
func withoutWaits(p *plan.Pace) *plan.Pace {
	if p == nil || !p.Waits {
		return p
	}
	short := *p
	short.Waits = false
	return &short
}

// Document is the whole plan. The doc tags are the descriptions in the schema.
type Document struct {
	FormatVersion string                     `json:"format_version" doc:"The version of this format."`
	Version       string                     `json:"lkeplan_version,omitempty" doc:"The version of the program that wrote it."`
	Applyable     bool                       `json:"applyable" doc:"Whether the plan has changes to apply and is not refused."`
	Complete      bool                       `json:"complete" doc:"Whether everything could be checked. Otherwise notes list what could not."`
	Errored       bool                       `json:"errored"`
	Base          plan.Revision              `json:"base,omitzero" doc:"The state that the head is compared with."`
	Head          plan.Revision              `json:"head,omitzero"`
	Rules         plan.Revision              `json:"rules,omitzero" doc:"The revision of the guards and policies, if it is not the base."`
	Digest        string                     `json:"plan_digest,omitempty" doc:"Of the saved plan."`
	Changes       plan.List[resourceChange]  `json:"resource_changes" doc:"The changes, by address."`
	Drift         plan.List[resourceDrift]   `json:"resource_drift" doc:"Manual edits and changes by other programs in the cluster, by address."`
	Rolling       []plan.Rolling             `json:"rolling,omitempty" doc:"Pools whose nodes are still draining, joining or being replaced."`
	Catalog       string                     `json:"catalog,omitempty" doc:"The price catalogue; absent for the built-in one."`
	Repriced      bool                       `json:"catalog_changes,omitempty" doc:"Whether the change alters the price catalogue. All costs are then at the higher of the old and the new prices."`
	Workloads     *plan.Workloads            `json:"workloads,omitempty" doc:"What happens to pods, if they are simulated."`
	Guards        plan.List[plan.Verdict]    `json:"guards" doc:"The verdicts of guards and policies."`
	Diagnostics   plan.List[diag.Diagnostic] `json:"diagnostics" doc:"The diagnostics of the configuration."`
	Notes         plan.List[string]          `json:"notes" doc:"What could not be checked."`
	Cost          *cost                      `json:"cost" doc:"Of all pools together."`
	Summary       plan.Summary               `json:"summary"`
}

type resourceChange struct {
	Address  string                `json:"address" doc:"Of the block, such as pool.general."`
	Previous string                `json:"previous_address,omitempty" doc:"The address in the base, for a block that was moved."`
	Mode     string                `json:"mode" doc:"Always managed."`
	Type     string                `json:"type" doc:"The type of the block, such as pool or node_class."`
	Name     string                `json:"name" doc:"Of the object in the cluster."`
	Object   object                `json:"object"`
	Source   diag.Range            `json:"source,omitzero" doc:"The place of the block. That of a deleted block is in the base."`
	Change   alteration            `json:"change"`
	Reason   string                `json:"action_reason,omitempty" doc:"update_rolls_nodes, update_may_remove_nodes, update_in_place or delete_because_no_resource_config."`
	Effect   plan.Effect           `json:"effect" doc:"The most disruptive effect of all fields on existing nodes."`
	Partial  bool                  `json:"partial,omitempty" doc:"For the effect roll: only nodes that no longer match are replaced."`
	Loosens  bool                  `json:"loosens,omitempty" doc:"Whether Karpenter may also remove nodes that the effect keeps."`
	Prune    plan.RemovalStage     `json:"prune,omitempty" doc:"The removal of a pool. condemn: the pool is no longer declared, drains its nodes within its budgets, and is deleted after them. drained: all its nodes have drained, and it is deleted. reprieve: the pool was draining, is declared again, and keeps its remaining nodes."`
	Outside  bool                  `json:"outside,omitempty" doc:"True for a pool that the directory does not declare, and whose nodes are replaced because of their class. Its address is its kind and name, such as NodePool batch."`
	Because  []string              `json:"because,omitempty" doc:"The other objects because of which nodes of this pool are or may be replaced or removed: the addresses of its class, of overlays, buffers and limits blocks, and of pools that add or lose capacity."`
	Attracts []string              `json:"attracts,omitempty" doc:"If the pods of the cluster are unknown, and the change adds capacity to a pool or takes some from it: the other pools whose pods may move because of it, and those whose pods cannot, with the reason. Capacity is added by a new pool, more replicas, larger limits, wider requirements, fewer taints or other labels. It is taken by a deleted pool, smaller limits, narrower requirements, more taints, other labels, or replicas in place of nodes for pods."`
	Fields   plan.List[plan.Field] `json:"fields" doc:"What changes, by path."`
	Impact   *impact               `json:"impact,omitempty" doc:"What happens to the nodes of a pool."`
	Cost     *cost                 `json:"cost,omitempty" doc:"The cost of a pool."`
	// An apply with Conflicts is refused.
	Conflicts []plan.Conflict `json:"conflicts,omitempty" doc:"Fields that another owner has set to another value. An apply is refused."`
}

type object struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid,omitempty" doc:"Of the object in the cluster, if a cluster was read."`
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

func resourceChangeOf(c plan.Change) resourceChange {
	r := resourceChange{
		Address: c.Addr, Previous: c.Previous, Mode: "managed", Type: c.Block, Name: c.Name,
		Object: object{c.APIVersion, c.Kind, c.Name, c.UID}, Source: c.Source,
		Change: alteration{Actions: []plan.Action{c.Action}, Before: c.Old, After: c.New},
		Reason: effectReason(c), Effect: c.Effect, Partial: c.Partial, Loosens: c.Loosens, Prune: c.Prune,
		Outside: c.Outside, Because: c.Because, Attracts: c.Attracts,
		Fields: c.Fields, Impact: impactOf(c.Impact), Conflicts: c.Conflicts,
	}
	if c.Before != nil || c.After != nil {
		r.Cost = costOf(c.Before, c.After, c.Current)
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

// impact is the effect on the nodes of a pool, as JSON.
type impact struct {
	Certainty string         `json:"certainty" doc:"exact: the nodes were counted. static: no cluster was read."`
	Nodes     *nodeCount     `json:"nodes,omitempty" doc:"Absent if no cluster was read."`
	Upgrade   string         `json:"kubernetes_version,omitempty" doc:"Old and new version of the replaced nodes."`
	Budget    *plan.Pace     `json:"budget,omitempty" doc:"When the budgets allow the replacements."`
	Holds     []plan.Held    `json:"holds,omitempty" doc:"What keeps nodes from being replaced."`
	Refresh   *plan.Calendar `json:"refresh,omitempty" doc:"When nodes are replaced because of their age."`
	Moves     []plan.Move    `json:"moves,omitempty" doc:"The nodes that Karpenter's consolidation removes or replaces because of the change, if the pods of the cluster are known."`
}

type nodeCount struct {
	Of        int `json:"of" doc:"Nodes of the pool."`
	Rolled    int `json:"rolled" doc:"Nodes that are replaced because of the change."`
	Deleted   int `json:"deleted" doc:"Nodes that are deleted immediately."`
	Relabeled int `json:"relabeled" doc:"Nodes whose labels or annotations change in place."`
	Removable int `json:"removable" doc:"Other nodes that Karpenter may remove or replace because of the change."`
	Expiring  int `json:"expiring" doc:"Nodes that expire within a week, regardless of budgets."`
}

func impactOf(im *plan.Impact) *impact {
	if im == nil {
		return nil
	}
	r := &impact{Certainty: "static", Upgrade: im.Upgrade, Budget: withoutWaits(im.Pace), Holds: im.Holds, Moves: im.Moves, Refresh: im.Refresh}
	if im.Known {
		r.Certainty = "exact"
		r.Nodes = &nodeCount{im.Of, im.Rolled, im.Deleted, im.Relabeled, im.Removable, im.Expiring}
	}
	return r
}

// amount is a plan.Amount, or unlimited or unknown.
type amount string

func amountOf(m catalog.Money) *amount {
	a := amount(plan.Amount(m).String())
	return &a
}

const (
	unlimited amount = "unlimited"
	unknown   amount = "unknown"
)

// cost is the cost of pools, as JSON.
type cost struct {
	Currency  string            `json:"currency" doc:"Always USD."`
	Monthly   monthlyCost       `json:"monthly"`
	LimitedBy plan.List[string] `json:"limited_by" doc:"The limits that determine ceiling_after: cpu, memory and nodes of the pool, and addresses of limits blocks."`
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
	c := &cost{Currency: "USD"}
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
		c.LimitedBy = after.By
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
	Path    string            `json:"path"`
	Applied any               `json:"applied" doc:"Null if nothing was applied."`
	Live    any               `json:"live"`
	Owners  plan.List[string] `json:"owners" doc:"The field managers that set it."`
	Kept    bool              `json:"kept" doc:"Whether an apply keeps the live value. Otherwise the apply is refused."`
	Detail  string            `json:"detail,omitempty" doc:"The consequences, in sentences."`
}

// driftOf joins the fields of each object. They come sorted by address.
func driftOf(fields []plan.Drift) (list []resourceDrift) {
	for _, d := range fields {
		last := len(list) - 1
		if last < 0 || list[last].Address != d.Addr || list[last].Object.Kind != d.Kind {
			list = append(list, resourceDrift{
				Address: d.Addr, Mode: "managed", Type: schemas.TypeOf(d.Kind), Name: d.Name,
				Object: object{Kind: d.Kind, Name: d.Name},
			})
			last++
		}
		list[last].Fields = append(list[last].Fields, driftedField{d.Path, d.Applied, d.Live, d.Owners, d.Kept, d.Detail})
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

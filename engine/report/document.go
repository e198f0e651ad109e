package report

import (
	"fmt"
	"io"
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

// The JSON form of a plan is one document, the same as lines for programs that read a stream
// (lines.go), and the schema of both. Its member resource_changes has the shape of Terraform's
// plans, so that what scans those for deletions works; fields, effects and impact are lkeplan's
// own. Its types are not those of package plan, because saved plans store these by the names of
// their Go fields: with tags, other releases could not read them.

// FormatVersion is the version of the JSON form. A new minor one only adds.
const FormatVersion = "1.0"

// newDocument returns the document of a plan, with the diagnostics of compiling the head.
// Digest is that of the saved plan and version that of the program; each is ""
// where there is none.
func newDocument(p plan.Plan, diagnostics []diag.Diagnostic, digest, version string) Document {
	doc := Document{
		FormatVersion: FormatVersion, Version: version, Complete: len(p.Notes) == 0,
		Base: revisionOf(p.Base), Head: revisionOf(p.Head), Rules: revisionOf(p.Rules), Digest: digest,
		Changes: []resourceChange{}, Drift: driftOf(p.Drift), Guards: []guard{},
		Diagnostics: append([]diag.Diagnostic{}, diagnostics...), Notes: append([]string{}, p.Notes...),
		Cost: costsOf(p), Summary: summaryOf(p),
		Workloads: workloadsOf(p.Workloads),
	}
	doc.Errored = slices.ContainsFunc(diagnostics, func(d diag.Diagnostic) bool { return d.Severity == "error" })
	doc.Applyable = !p.Empty() && !p.Refused() && !doc.Errored
	for _, c := range p.Changes {
		doc.Changes = append(doc.Changes, resourceChangeOf(c))
		doc.Applyable = doc.Applyable && len(c.Conflicts) == 0
	}
	for _, m := range p.Migrations {
		doc.Migrations = append(doc.Migrations, migrationOf(m))
	}
	for _, r := range p.Rolling {
		doc.Rolling = append(doc.Rolling, rollingOf(r))
	}
	doc.Catalog = p.Catalog
	for _, r := range p.Repriced {
		doc.Prices = append(doc.Prices, repricingOf(r))
	}
	for _, v := range p.Verdicts {
		doc.Guards = append(doc.Guards, guard{v.Guard, v.Addr, v.Status, v.Limit, v.Actual, v.Detail, moment(v.Until),
			v.Permission, sourceOf(v.Source)})
	}
	return doc
}

// Write writes the document as Schema describes it.
func (d Document) Write(w io.Writer) error { return diag.JSON(w, d) }

// Document is the whole plan. The texts of the tag doc are in the schema.
type Document struct {
	FormatVersion string            `json:"format_version" doc:"The version of this form. A new minor one only adds."`
	Version       string            `json:"lkeplan_version,omitempty" doc:"The program that wrote it."`
	Applyable     bool              `json:"applyable" doc:"Whether there is something to apply, and nothing refuses it."`
	Complete      bool              `json:"complete" doc:"Whether everything could be checked; otherwise notes say what could not."`
	Errored       bool              `json:"errored"`
	Base          *revision         `json:"base,omitempty" doc:"What it is compared with."`
	Head          *revision         `json:"head,omitempty"`
	Rules         *revision         `json:"rules,omitempty" doc:"Whose guards and policies judge, where it is not the base."`
	Digest        string            `json:"plan_digest,omitempty" doc:"Of the saved plan."`
	Changes       []resourceChange  `json:"resource_changes" doc:"What changes, by address."`
	Migrations    []migration       `json:"migrations,omitempty" doc:"How to rename pools, and make them static or dynamic, and keep their nodes."`
	Drift         []resourceDrift   `json:"resource_drift" doc:"What others have changed in the cluster, by address."`
	Rolling       []rolling         `json:"rolling,omitempty" doc:"Pools whose nodes are not what the live objects ask for yet."`
	Catalog       string            `json:"catalog,omitempty" doc:"The catalogue that prices are from; absent for the built-in one."`
	Prices        []repricing       `json:"price_changes,omitempty" doc:"What the change does to the prices of the catalogue. All other costs are at the prices after it."`
	Workloads     *workloads        `json:"workloads,omitempty" doc:"What becomes of pods, where they are simulated."`
	Guards        []guard           `json:"guards" doc:"What guards and policies say of the plan."`
	Diagnostics   []diag.Diagnostic `json:"diagnostics" doc:"What is to be said of the configuration."`
	Notes         []string          `json:"notes" doc:"What could not be checked."`
	Cost          *cost             `json:"cost" doc:"Of all pools together."`
	Summary       summary           `json:"summary"`
}

type revision struct {
	Kind  string     `json:"kind" doc:"git, dir, live, snapshot or plan."`
	Ref   string     `json:"ref,omitempty" doc:"Such as a commit, a path, or a context and its server."`
	Why   string     `json:"why,omitempty" doc:"Why it is this one: which branch it is the merge base with, and what names that."`
	Taken *time.Time `json:"taken,omitempty" doc:"Of a snapshot: when the cluster was read."`
}

func revisionOf(r plan.Revision) *revision {
	if r.Kind == "" {
		return nil
	}
	return &revision{r.Kind, r.Ref, r.Why, moment(r.Taken)}
}

// moment is nil for the zero time.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

type resourceChange struct {
	Address  string            `json:"address" doc:"Of the block: pool.general."`
	Previous string            `json:"previous_address,omitempty" doc:"Of a block that was moved."`
	Mode     string            `json:"mode" doc:"Always managed."`
	Type     string            `json:"type" doc:"The type of the block: pool, node_class."`
	Name     string            `json:"name" doc:"Of the object in the cluster."`
	Object   object            `json:"object"`
	Source   *diag.Range       `json:"source,omitempty" doc:"Where the block is; in the base, if it is deleted."`
	Change   alteration        `json:"change"`
	Reason   string            `json:"action_reason,omitempty" doc:"update_rolls_nodes, update_may_remove_nodes, update_in_place or delete_because_no_resource_config."`
	Effect   plan.Effect       `json:"effect" doc:"The gravest of the fields' effects on nodes that are there."`
	Partial  bool              `json:"partial,omitempty" doc:"Of roll: only nodes that do not match any more."`
	Loosens  bool              `json:"loosens,omitempty" doc:"Whether Karpenter may remove nodes that the effect leaves."`
	Prune    plan.RemovalStage `json:"prune,omitempty" doc:"Of a pool. condemn: it is not declared any more, gives up its nodes within its budgets, and is deleted after them. drained: it has given up all of them, and is deleted. reprieve: it was condemned, is declared again, and keeps the nodes that it has left."`
	Outside  bool              `json:"outside,omitempty" doc:"Of a pool that the directory does not declare: its nodes are replaced because of their class. The address is its kind and name: NodePool hand."`
	Because  []string          `json:"because,omitempty" doc:"What else rolls this pool, or may have nodes of it removed: the addresses of its class, of overlays, buffers and pools with another weight."`
	Fields   []field           `json:"fields" doc:"What changes, by path."`
	Impact   *impact           `json:"impact,omitempty" doc:"Of a pool: what becomes of its nodes."`
	Cost     *cost             `json:"cost,omitempty" doc:"Of a pool."`
	// Conflicts refuse an apply.
	Conflicts []conflict `json:"conflicts,omitempty" doc:"Fields that somebody else has set to another value. An apply is refused."`
}

type object struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid,omitempty" doc:"Of the object in the cluster, where one was asked."`
}

func sourceOf(r hcl.Range) *diag.Range {
	if r.Filename == "" {
		return nil
	}
	return &diag.Range{
		Filename: r.Filename, Start: diag.Pos{Line: r.Start.Line, Column: r.Start.Column},
		End: diag.Pos{Line: r.End.Line, Column: r.End.Column},
	}
}

// alteration has the shape of Terraform's.
type alteration struct {
	Actions         []plan.Action  `json:"actions"`
	Before          map[string]any `json:"before" doc:"The object as the API server stores it; null where there is none."`
	After           map[string]any `json:"after" doc:"The object as the API server would store it; null where there is none."`
	AfterUnknown    struct{}       `json:"after_unknown" doc:"Always empty: everything is known."`
	BeforeSensitive struct{}       `json:"before_sensitive" doc:"Always empty: sensitive values are refused before."`
	AfterSensitive  struct{}       `json:"after_sensitive" doc:"Always empty."`
}

type field struct {
	Path    string      `json:"path" doc:"Such as spec.limits.cpu; elements of lists are named by what they are about: spec.template.spec.requirements[kubernetes.io/arch]."`
	Before  any         `json:"before" doc:"Null where there was none."`
	After   any         `json:"after" doc:"Null where there is none any more."`
	Effect  plan.Effect `json:"effect" doc:"roll: nodes are replaced, within the budgets. may_remove_nodes: Karpenter may remove or replace nodes that match, within the budgets: sooner than before, more at a time, or for other reasons. in_place: it takes effect at once and every node stays. delete_nodes: nodes go at once, past all budgets. none: nobody acts on it."`
	Partial bool        `json:"partial,omitempty" doc:"Of roll: only nodes that do not match any more."`
	Source  *diag.Range `json:"source,omitempty"`
	Owners  []string    `json:"owners,omitempty" doc:"The field managers of the live field."`
}

type conflict struct {
	Path   string `json:"path"`
	Owner  string `json:"owner" doc:"The field manager."`
	Holder string `json:"holder,omitempty" doc:"The NodePlan that applies the whole object."`
}

func resourceChangeOf(c plan.Change) resourceChange {
	r := resourceChange{
		Address: c.Addr, Previous: c.Previous, Mode: "managed", Type: c.Block, Name: c.Name,
		Object: object{c.APIVersion, c.Kind, c.Name, c.UID}, Source: sourceOf(c.Source),
		Change: alteration{Actions: []plan.Action{c.Action}, Before: c.Old, After: c.New},
		Reason: reason(c), Effect: c.Effect, Partial: c.Partial, Loosens: c.Loosens, Prune: c.Prune,
		Outside: c.Outside, Because: c.Because,
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

func reason(c plan.Change) string {
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
	Address string      `json:"address,omitempty" doc:"Of what it is about; of the whole plan where there is none."`
	Status  plan.Status `json:"status" doc:"blocked refuses the plan. allowed is blocked, and somebody allows it. unknown was not checked: it counts nodes, and no cluster was asked. waiting lets it pass from a time on."`
	Limit   string      `json:"limit,omitempty" doc:"What is allowed."`
	Actual  string      `json:"actual,omitempty" doc:"What the plan does."`
	Detail  string      `json:"detail,omitempty"`
	Until   *time.Time  `json:"until,omitempty" doc:"Of waiting: when it lets the plan pass; left out if it never does."`
	Allow   string      `json:"permission,omitempty" doc:"What --allow takes to let it pass."`
	Source  *diag.Range `json:"source,omitempty"`
}

type summary struct {
	Add          int      `json:"add"`
	Change       int      `json:"change"`
	Destroy      int      `json:"destroy"`
	Move         int      `json:"move"`
	Forget       int      `json:"forget" doc:"Objects that stay as they are, and are no longer managed."`
	NodesRolled  *int     `json:"nodes_rolled" doc:"Null if there are such pools and no cluster was asked."`
	NodesDeleted *int     `json:"nodes_deleted" doc:"Null if there are such pools and no cluster was asked."`
	NodesDrained *int     `json:"nodes_drained" doc:"That condemned pools give up; null if there are such pools and no cluster was asked."`
	NodesMay     *int     `json:"nodes_removable" doc:"Other nodes that Karpenter may remove or replace for the change; null if there are such pools and no cluster was asked."`
	Rolled       []string `json:"pools_rolled" doc:"The addresses of pools whose nodes are replaced."`
	Deleted      []string `json:"pools_deleted" doc:"The addresses of pools whose nodes go at once."`
	Condemned    []string `json:"pools_condemned" doc:"The addresses of pools that give up their nodes and are deleted after them."`
	Removable    []string `json:"pools_removable" doc:"The addresses of pools of which Karpenter may remove nodes for the change; of an overlay or a buffer, if it is not known of which pools."`
	Conflicts    int      `json:"conflicts" doc:"Fields that others have set to other values, for which an apply is refused."`
	Refused      bool     `json:"refused" doc:"Whether a guard or policy blocks the plan."`
}

func summaryOf(p plan.Plan) summary {
	s := p.Summary()
	return summary{
		Add: s.Create, Change: s.Update, Destroy: s.Delete, Move: s.Move, Forget: s.Forget,
		NodesRolled: s.NodesRolled.Number(), NodesDeleted: s.NodesDeleted.Number(),
		NodesDrained: s.NodesDrained.Number(), NodesMay: s.NodesRemovable.Number(),
		// JSON readers want no null for a list.
		Rolled: append([]string{}, s.Rolled...), Deleted: append([]string{}, s.Deleted...),
		Condemned: append([]string{}, s.Condemned...), Removable: append([]string{}, s.Removable...),
		Conflicts: s.Conflicts, Refused: p.Refused(),
	}
}

// migration is a plan.Migration as JSON.
type migration struct {
	From   string `json:"from" doc:"The address in the base."`
	To     string `json:"to" doc:"The address of the pool that takes over."`
	Reason string `json:"reason"`
	Moved  string `json:"moved,omitempty" doc:"The block that keeps the object and its nodes as they are, instead of the steps."`
	Steps  []step `json:"steps"`
}

type step struct {
	Title string `json:"title"`
	HCL   string `json:"hcl,omitempty" doc:"What to write for it."`
}

func migrationOf(m plan.Migration) migration {
	out := migration{From: m.From, To: m.To, Reason: m.Reason, Moved: m.Moved, Steps: []step{}}
	for _, s := range m.Steps {
		out.Steps = append(out.Steps, step(s))
	}
	return out
}

// impact is the effect on the nodes of a pool, in JSON.
type impact struct {
	Certainty string        `json:"certainty" doc:"exact: the nodes were counted. static: no cluster was asked."`
	Nodes     *nodeCount    `json:"nodes,omitempty" doc:"Where a cluster was asked."`
	Upgrade   string        `json:"kubernetes_version,omitempty" doc:"Old and new version of the rolled nodes."`
	Budget    *budgetReport `json:"budget,omitempty" doc:"How the budgets spread a roll over time."`
	Holds     []hold        `json:"holds,omitempty" doc:"What keeps nodes from being replaced."`
}

type nodeCount struct {
	Of        int `json:"of" doc:"Nodes of the pool."`
	Rolled    int `json:"rolled" doc:"Nodes that are replaced for the change."`
	Deleted   int `json:"deleted" doc:"Nodes that go at once, with the pool."`
	Removable int `json:"removable" doc:"Other nodes that Karpenter may remove or replace for the change."`
	Expiring  int `json:"expiring" doc:"Nodes that come to the end of their time within a week, past the budgets."`
}

type budgetReport struct {
	Now     int        `json:"allowed_now" doc:"Nodes that may go at this moment. Without a cluster, 1 says that some may."`
	Wave    int        `json:"per_wave" doc:"Nodes at a time, when the budgets next let any go; 0 without a cluster."`
	Waves   int        `json:"waves" doc:"Turns until all are replaced; 0 where they never are or were not counted."`
	Next    *time.Time `json:"next_window,omitempty" doc:"When nodes may next go, if none may now."`
	Never   bool       `json:"never" doc:"No node may go within a year."`
	Closed  []string   `json:"closed_by" doc:"The budgets that let none go at this moment."`
	Windows []window   `json:"windows" doc:"The next week, without gaps."`
}

type window struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
	Nodes int       `json:"nodes" doc:"Nodes that may go at a time. Without a cluster, 1 says that some may."`
}

type hold struct {
	Reason plan.HoldReason `json:"reason"`
	Object string          `json:"object" doc:"What holds them; a sentence for limits."`
	Nodes  int             `json:"nodes" doc:"How many of the nodes it holds."`
}

// rolling is a pool whose nodes are still being replaced, or join.
type rolling struct {
	Address   string        `json:"address"`
	Name      string        `json:"name" doc:"Of the NodePool."`
	Of        int           `json:"of" doc:"Nodes of the pool."`
	Outdated  int           `json:"outdated" doc:"Nodes that are still to be replaced."`
	Joining   int           `json:"joining" doc:"Machines that are no nodes of the cluster yet."`
	Condemned *sentence     `json:"condemned,omitempty" doc:"Of a pool that is not declared any more, gives up its nodes, and is deleted after them."`
	Budget    *budgetReport `json:"budget,omitempty"`
	Holds     []hold        `json:"holds,omitempty" doc:"What keeps nodes from being replaced."`
}

// sentence is a pool that is being removed, as it was. Names of types are in the published schema.
type sentence struct {
	Since   *time.Time `json:"since,omitempty"`
	Nodes   int        `json:"nodes" doc:"That it had then."`
	Soonest *time.Time `json:"soonest_end,omitempty" doc:"When the last node can have gone by the budgets; left out where that is never, or not within a week."`
}

func sentenceOf(r plan.Rolling) *sentence {
	if r.Condemned == nil {
		return nil
	}
	s := &sentence{Since: moment(r.Condemned.Since), Nodes: r.Condemned.Nodes}
	if r.Pace != nil {
		s.Soonest = moment(r.Pace.Soonest(r.Of))
	}
	return s
}

func rollingOf(r plan.Rolling) rolling {
	return rolling{
		Address: r.Addr, Name: r.Pool, Of: r.Of, Outdated: r.Outdated, Joining: r.Joining,
		Condemned: sentenceOf(r), Budget: budgetOf(r.Pace), Holds: holdsOf(r.Holds),
	}
}

func budgetOf(p *plan.Pace) *budgetReport {
	if p == nil {
		return nil
	}
	b := &budgetReport{p.Now, p.Wave, p.Waves, moment(p.Next), p.Never, append([]string{}, p.Closed...), []window{}}
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
		r.Nodes = &nodeCount{im.Of, im.Rolled, im.Deleted, im.Removable, im.Expiring}
	}
	r.Budget, r.Holds = budgetOf(im.Pace), holdsOf(im.Holds)
	return r
}

// amount is money as a decimal of dollars, which no reader makes a float of by
// accident.
type amount string

// Dollars writes money as a decimal of dollars with two places.
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

// cost is what pools cost, in JSON.
type cost struct {
	Currency  string      `json:"currency" doc:"Always USD."`
	Monthly   monthlyCost `json:"monthly"`
	LimitedBy []string    `json:"limited_by" doc:"The limits that hold ceiling_after where it is: cpu, memory and nodes of the pool, and addresses of limits blocks."`
}

type monthlyCost struct {
	Current        *amount `json:"current" doc:"Of the nodes there are; null where no cluster was asked."`
	FloorBefore    *amount `json:"floor_before" doc:"Of the nodes that are always there; null where there was no pool; unknown where the price of one is."`
	FloorAfter     *amount `json:"floor_after"`
	CeilingBefore  *amount `json:"ceiling_before" doc:"The most that the limits allow; null where there was no pool; unknown where a pool allows a plan whose price is not known."`
	CeilingAfter   *amount `json:"ceiling_after"`
	UncappedBefore *amount `json:"ceiling_uncapped_before" doc:"The ceiling that the limits of pools alone give, without limits blocks."`
	UncappedAfter  *amount `json:"ceiling_uncapped_after"`
}

// repricing is what a change does to the prices of a catalogue, in JSON.
type repricing struct {
	Directory     string        `json:"directory,omitempty" doc:"Of several."`
	From          string        `json:"from" doc:"The catalogue before the change."`
	To            string        `json:"to"`
	Types         []priceChange `json:"plan_types" doc:"That pools allow and whose price changes, by name."`
	Facts         []string      `json:"facts" doc:"The plan types that pools allow and whose size, class or other labels change."`
	Others        int           `json:"others" doc:"How many plan types have another price, and no pool allows them."`
	CeilingBefore *amount       `json:"ceiling_before" doc:"What the pools of the change cost at most in a month, at the prices before it."`
	CeilingAfter  *amount       `json:"ceiling_after"`
}

type priceChange struct {
	Type   string  `json:"plan_type"`
	Before *amount `json:"monthly_before" doc:"null if it was not sold; unknown if its price or size was."`
	After  *amount `json:"monthly_after"`
}

func repricingOf(r plan.Repricing) repricing {
	price := func(p plan.OfferedPrice) *amount {
		a := unknown
		switch {
		case p.Known:
			return amountOf(p.Monthly)
		case p.Sold:
			return &a
		}
		return nil
	}
	doc := repricing{r.Directory, r.From, r.To, []priceChange{}, append([]string{}, r.Facts...), r.Others, ceilingOf(r.Before.Ceiling), ceilingOf(r.After.Ceiling)}
	for _, t := range r.Types {
		doc.Types = append(doc.Types, priceChange{t.Type, price(t.Before), price(t.After)})
	}
	return doc
}

// costsOf are the costs of all pools of a plan.
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

// resourceDrift is what others did to one object, in the shape of a change.
type resourceDrift struct {
	Address string         `json:"address"`
	Mode    string         `json:"mode" doc:"Always managed."`
	Type    string         `json:"type"`
	Name    string         `json:"name"`
	Object  object         `json:"object"`
	Change  alteration     `json:"change" doc:"Of the drifted fields only: from what was applied to what is live."`
	Fields  []driftedField `json:"fields"`
}

type driftedField struct {
	Path    string   `json:"path"`
	Applied any      `json:"applied" doc:"Null where nothing was applied."`
	Live    any      `json:"live"`
	Owners  []string `json:"owners" doc:"Who has set it: field managers."`
	Kept    bool     `json:"kept" doc:"An apply leaves it so. Otherwise it is refused."`
	Detail  string   `json:"detail,omitempty" doc:"What follows from it, in sentences."`
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

// alterationOf is the part of an object that drifted fields are, before and after.
func alterationOf(fields []driftedField) alteration {
	a := alteration{Actions: []plan.Action{plan.Update}, Before: map[string]any{}, After: map[string]any{}}
	for _, f := range fields {
		nest(a.Before, f.Path, f.Applied)
		nest(a.After, f.Path, f.Live)
	}
	return a
}

// nest puts the value of a path into an object: spec.limits.cpu. What is in
// brackets is the key of a map, or names elements of a list.
func nest(into map[string]any, path string, v any) {
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
	Pods      int        `json:"pods" doc:"That were simulated, on each side on a cluster without nodes."`
	Before    placed     `json:"before"`
	After     placed     `json:"after"`
	PlanTypes []planType `json:"plan_types" doc:"The nodes by pool and plan type, on both sides."`
	Lost      []lost     `json:"newly_unschedulable" doc:"Pods that have a node before the change, and none after it."`
	Notes     []string   `json:"notes" doc:"What was not simulated."`
	Missing   []string   `json:"missing,omitempty" doc:"What may have pods and could not be read: the numbers are of the others."`
}

type placed struct {
	Pods          int    `json:"pods" doc:"That have a node."`
	Unschedulable int    `json:"unschedulable" doc:"Pods without a node."`
	Nodes         int    `json:"nodes"`
	Monthly       amount `json:"monthly" doc:"What the nodes cost, in US dollars."`
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
	Pool string `json:"pool,omitempty" doc:"The name of the NodePool; left out where the reason is the same for all."`
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

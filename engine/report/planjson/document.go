// Package planjson is the JSON form of a plan: one document, the same as lines
// for programs that read a stream, and the schema of both.
//
// It decides nothing and leaves nothing out. Its member resource_changes has the
// shape of Terraform's plans, so that what scans those for deletions works;
// fields, effects and impact are lkeplan's own. Its types are not those of package plan, because
// saved plans store these by the names of their Go fields: with tags, other releases could not
// read them. It knows no other format, and no place to write to.
package planjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// FormatVersion is the version of the JSON form. A new minor one only adds.
const FormatVersion = "1.0"

// New returns the document of a plan, with the diagnostics of compiling the head.
// Digest is that of the saved plan and version that of the program; each is ""
// where there is none.
func New(p plan.Plan, diagnostics []diag.Diagnostic, digest, version string) Document {
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
	for _, v := range p.Verdicts {
		doc.Guards = append(doc.Guards, guardOf(v))
	}
	return doc
}

// Write writes the document as Schema describes it.
func (d Document) Write(w io.Writer) error { return encode(w, d, "  ") }

// encode writes JSON in which no character steers a terminal.
func encode(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(visibleJSON(b.Bytes()))
	return err
}

// visibleJSON escapes in a document what strings may hold and is better not sent
// to a terminal. (Control characters of ASCII are escaped already.)
func visibleJSON(doc []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i < len(doc); {
		r, size := utf8.DecodeRune(doc[i:])
		if r >= 0x7f && diag.Visible(string(r)) != string(r) {
			out = append(out, doc[done:i]...)
			for _, unit := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
			done = i + size
		}
		i += size
	}
	return append(out, doc[done:]...)
}

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

func guardOf(v plan.Verdict) guard {
	return guard{v.Guard, v.Addr, v.Status, v.Limit, v.Actual, v.Detail, moment(v.Until), v.Permission, sourceOf(v.Source)}
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

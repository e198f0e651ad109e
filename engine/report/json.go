package report

import (
	"encoding/json"
	"io"
	"iter"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// FormatVersion is the version of the JSON form. A new minor one only adds.
const FormatVersion = "1.0"

// JSON writes a plan for programs. The list resource_changes has the shape of
// Terraform's plans, so that what scans those for deletions works; fields and
// effects are lkeplan's own.
func JSON(w io.Writer, messages iter.Seq[Message], _ Options) error {
	all := read(messages)
	s := all.sum
	out := document{
		FormatVersion: FormatVersion, Applyable: true, Complete: true,
		Changes: []resourceChange{}, Cost: costOf(&s.Before, &s.After),
		Summary: summary{Add: s.Create, Change: s.Update, Destroy: s.Delete, Move: s.Move, Rolled: none(s.Rolled), Deleted: none(s.Deleted)},
	}
	for _, c := range all.changes {
		out.Changes = append(out.Changes, resourceChangeOf(c.Change))
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

type document struct {
	FormatVersion string           `json:"format_version"`
	Applyable     bool             `json:"applyable"`
	Complete      bool             `json:"complete"`
	Errored       bool             `json:"errored"`
	Changes       []resourceChange `json:"resource_changes"`
	Cost          *cost            `json:"cost"`
	Summary       summary          `json:"summary"`
}

type resourceChange struct {
	Address  string  `json:"address"`
	Previous string  `json:"previous_address,omitempty"`
	Type     string  `json:"type"`
	Name     string  `json:"name"`
	Object   object  `json:"object"`
	Source   *source `json:"source,omitempty"`
	Change   struct {
		Actions []plan.Action  `json:"actions"`
		Before  map[string]any `json:"before"`
		After   map[string]any `json:"after"`
	} `json:"change"`
	Effect    plan.Effect `json:"effect"`
	Partial   bool        `json:"partial,omitempty"`
	Because   []string    `json:"because,omitempty"`
	Fields    []field     `json:"fields"`
	Cost      *cost       `json:"cost,omitempty"`
	Nodes     *nodeCount  `json:"nodes,omitempty"`
	Conflicts []conflict  `json:"conflicts,omitempty"`
}

// nodeCount is there where a cluster was asked.
type nodeCount struct {
	Rolled int `json:"rolled"`
	Of     int `json:"of"`
	Wave   int `json:"per_wave"`
}

type conflict struct {
	Path  string `json:"path"`
	Owner string `json:"owner"`
}

// cost is in dollars a month, as decimal strings; null where nothing limits it
// or there is no pool.
type cost struct {
	Currency string         `json:"currency"`
	Before   *catalog.Money `json:"ceiling_before"`
	After    *catalog.Money `json:"ceiling_after"`
}

func costOf(before, after *plan.Cost) *cost {
	amount := func(c *plan.Cost) *catalog.Money {
		if c == nil || c.Ceiling.Unlimited {
			return nil
		}
		return &c.Ceiling.Monthly
	}
	return &cost{"USD", amount(before), amount(after)}
}

type object struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

type source struct {
	File   string `json:"filename"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

type field struct {
	Path    string      `json:"path"`
	Before  any         `json:"before"`
	After   any         `json:"after"`
	Effect  plan.Effect `json:"effect"`
	Partial bool        `json:"partial,omitempty"`
	Source  *source     `json:"source,omitempty"`
}

type summary struct {
	Add     int      `json:"add"`
	Change  int      `json:"change"`
	Destroy int      `json:"destroy"`
	Move    int      `json:"move"`
	Rolled  []string `json:"pools_rolled"`
	Deleted []string `json:"pools_deleted"`
}

func resourceChangeOf(c plan.Change) resourceChange {
	r := resourceChange{
		Address: c.Addr, Previous: c.Previous, Type: c.Block, Name: c.Name,
		Object: object{c.Kind, c.Name}, Source: sourceOf(c.Source),
		Effect: c.Effect, Partial: c.Partial, Because: c.Because, Fields: []field{},
	}
	r.Change.Actions = []plan.Action{c.Action}
	before, after := map[string]any{}, map[string]any{}
	for _, f := range c.Fields {
		r.Fields = append(r.Fields, field{f.Path, f.Before, f.After, f.Effect, f.Partial, sourceOf(f.Source)})
		if f.Before != nil {
			before[f.Path] = f.Before
		}
		if f.After != nil {
			after[f.Path] = f.After
		}
	}
	if c.Kind == "NodePool" {
		r.Cost = costOf(c.Before, c.After)
	}
	if c.Impact != nil && c.Impact.Known {
		r.Nodes = &nodeCount{Rolled: c.Impact.Rolled, Of: c.Impact.Of}
		if c.Impact.Pace != nil {
			r.Nodes.Wave = c.Impact.Pace.Wave
		}
	}
	for _, found := range c.Conflicts {
		r.Conflicts = append(r.Conflicts, conflict(found))
	}
	if c.Action != plan.Create {
		r.Change.Before = maps.Clone(before)
	}
	if c.Action != plan.Delete {
		r.Change.After = maps.Clone(after)
	}
	return r
}

func sourceOf(r hcl.Range) *source {
	if r.Filename == "" {
		return nil
	}
	return &source{r.Filename, r.Start.Line, r.Start.Column}
}

// none is an empty list where there is none: JSON readers want no null.
func none(list []string) []string { return slices.Concat([]string{}, list) }

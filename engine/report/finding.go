package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// The rules of findings. A guard's rule is its name.
const (
	deletesNodes = "deletes-nodes"
	rollsNodes   = "rolls-nodes"
	// mayRemoveNodes excludes pools that are also rolled or deleted.
	mayRemoveNodes = "may-remove-nodes"
	conflicting    = "conflict"
	drifting       = "drift"
	notChecked     = "not-checked"
)

// reviewFindings returns what a reviewer should check, as diagnostics that CI systems show at their lines, worst first:
// what refuses the plan, deleted nodes, replaced nodes, then the rest in the order of the report.
func reviewFindings(r Report) (list []diag.Diagnostic) {
	v := plainText.view(r, true, nil)
	for _, g := range v.Guards {
		list = append(list, ofGuard(g))
	}
	list = append(list, lostPods(r)...)
	for _, e := range v.Entries {
		list = append(list, ofEntry(e)...)
	}
	list = append(list, r.Diagnostics...)
	for _, d := range v.Drifted {
		text := fmt.Sprintf("%s: %s is %s, set by %s; %s.", d.Addr, d.Path, d.After, d.By, d.Apply)
		if d.Detail != "" {
			text += " " + plainText(d.Detail)
		}
		list = append(list, newFinding("warning", drifting, "Set by another owner in the cluster",
			text, diag.Range{}, d.Drift.Addr, d.Drift.Path))
	}
	for _, text := range r.Notes {
		list = append(list, newFinding("warning", notChecked, "Could not be checked", plainText(text), diag.Range{}, "", text))
	}
	slices.SortStableFunc(list, func(a, b diag.Diagnostic) int { return severityRank(a) - severityRank(b) })
	return list
}

func severityRank(f diag.Diagnostic) int {
	switch {
	case f.Severity == "error":
		return 0
	case f.Rule == deletesNodes:
		return 1
	case f.Rule == rollsNodes:
		return 2
	case f.Rule == mayRemoveNodes:
		return 3
	}
	return 4
}

func newFinding(severity, rule, summary, text string, place diag.Range, addr string, key ...string) diag.Diagnostic {
	f := diag.Diagnostic{
		Severity: severity, Rule: rule, Summary: summary, Detail: text, Key: strings.Join(append(key, addr), "\x00"),
	}
	if !place.IsZero() {
		f.Range = &place
	}
	return f
}

func ofGuard(v guardRow) diag.Diagnostic {
	severity, summary := "warning", "A guard was not checked"
	switch v.Status {
	case plan.Blocked:
		severity, summary = "error", "Refused by a guard"
	case plan.Allowed:
		summary = "Allowed despite a guard"
	case plan.Changed:
		summary = "Guards, policies, imports or the cluster block change"
	case plan.Waiting:
		summary = "Waits for a change window"
	}
	return newFinding(severity, plainText(v.Guard), summary, v.Text, v.Source, v.Addr)
}

func ofEntry(e entryView) (list []diag.Diagnostic) {
	c := e.Change
	for i, clash := range c.Conflicts {
		list = append(list, newFinding("error", conflicting, "Set by another owner to another value", e.Addr+": "+e.Conflicts[i]+".",
			c.Source, c.Addr, clash.Path))
	}
	text := e.Addr + ": " + e.Headline
	for _, more := range append([]string{e.Consequence}, e.Obstacles...) {
		if more != "" {
			text += "; " + more
		}
	}
	switch c.Effect {
	case plan.DeleteNodes:
		list = append(list, newFinding("warning", deletesNodes, "Nodes are deleted", text+".", c.Source, c.Addr))
	case plan.Roll, plan.MayRemove:
		place := c.Source
		does := func(f plan.Field) bool { return f.Effect == c.Effect && !f.Source.IsZero() }
		if i := slices.IndexFunc(c.Fields, does); i >= 0 {
			place = c.Fields[i].Source
		}
		rule, summary := rollsNodes, "Nodes are replaced"
		if c.Effect == plan.MayRemove {
			rule, summary = mayRemoveNodes, "Nodes may be removed"
			if c.Impact != nil && c.Impact.Exact() {
				summary = "Karpenter removes or replaces nodes"
			}
		}
		list = append(list, newFinding("warning", rule, summary, text+".", place, c.Addr))
	}
	return list
}

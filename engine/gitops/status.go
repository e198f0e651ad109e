package gitops

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	reports "github.com/lkeplan/lkeplan/engine/report"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// writePlan writes a plan into the status. One that does nothing leaves the last
// that did something, where there was more to it than the plan.
func writePlan(np *lkeplanv1alpha1.NodePlan, p plan.Plan, revision, digest string) {
	s := p.Summary()
	if !p.Empty() || np.Spec.Mode == lkeplanv1alpha1.ModePlanOnly {
		np.Status.Plan = &lkeplanv1alpha1.PlanSummary{
			Digest: digest, Revision: revision, Summary: shorten(sentence(p), 1024),
			Create: s.Create, Update: s.Update, Delete: s.Delete,
			NodesRolled: s.NodesRolled, NodesDeleted: s.NodesDeleted,
		}
		if !p.After.Ceiling.Unlimited {
			np.Status.Plan.CostCeiling = p.After.Ceiling.Monthly.String()
		}
	}
	np.Status.Guards = nil
	for _, v := range p.Verdicts {
		if v.Status != plan.Passed {
			np.Status.Guards = append(np.Status.Guards, lkeplanv1alpha1.GuardStatus{Guard: v.Guard, Address: v.Addr, Status: string(v.Status), Message: v.Detail})
		}
	}
	np.Status.Drift = nil
	for _, d := range p.Drift {
		if d.Kept && len(np.Status.Drift) < mostListed {
			np.Status.Drift = append(np.Status.Drift, lkeplanv1alpha1.DriftStatus{Object: d.Key().String(), Path: d.Path, Owners: d.Owners})
		}
	}
}

// corrections says which fields were set back, and who had set them.
func corrections(p plan.Plan, ours owned) string {
	var lines []string
	for _, d := range p.Drift {
		if !d.Kept && ours[d.Key()] {
			lines = append(lines, fmt.Sprintf("%s: %s was set to %v by %s, and is set back", d.Key(), d.Path, d.Live, strings.Join(d.Owners, ", ")))
		}
	}
	return strings.Join(lines, "\n")
}

// mostListed bounds the lists in a status.
const mostListed = 100

// pools is how far the nodes of the pools are, and when the next one may go.
func pools(ctx context.Context, seen compare.View, head compile.Result, p plan.Plan) ([]lkeplanv1alpha1.PoolStatus, error) {
	rolling, err := compare.Rolling(ctx, seen, head)
	if err != nil {
		return nil, err
	}
	windows := map[string]*metav1.Time{}
	for _, c := range p.Changes {
		if c.Impact != nil && c.Impact.Pace != nil && !c.Impact.Pace.Next.IsZero() {
			windows[c.Name] = &metav1.Time{Time: c.Impact.Pace.Next}
		}
	}
	pools := make([]lkeplanv1alpha1.PoolStatus, 0, len(rolling))
	for _, r := range rolling {
		status := lkeplanv1alpha1.PoolStatus{Name: r.Pool, Nodes: r.Of, Outdated: r.Outdated}
		if r.Outdated > 0 {
			status.NextWindow = windows[r.Pool]
		}
		pools = append(pools, status)
	}
	return pools, nil
}

// comment is the plan as a comment for a pull request. In characters of several
// bytes it may be longer than an event may be; then it is cut.
func comment(np *lkeplanv1alpha1.NodePlan, p plan.Plan, digest string) (string, error) {
	var b strings.Builder
	err := reports.Write(&b, "markdown", reports.Report{Plan: p, Digest: digest}, reports.Options{Target: np.Namespace + "/" + np.Name, MaxChars: maxEvent - 1000})
	return shorten(b.String(), maxEvent), err
}

// sentence says what a plan does, on one line.
func sentence(p plan.Plan) string {
	if p.Empty() {
		return "no changes"
	}
	s := p.Summary()
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d to %s", n, what))
		}
	}
	add(s.Create, "create")
	add(s.Update, "update")
	add(s.Delete, "delete")
	text := strings.Join(parts, ", ")
	if text == "" {
		text = "no object to change"
	}
	if s.NodesDeleted > 0 {
		text += fmt.Sprintf("; %d nodes deleted with %s", s.NodesDeleted, strings.Join(s.Deleted, ", "))
	}
	if s.NodesRolled > 0 {
		text += fmt.Sprintf("; %d nodes replaced in %s", s.NodesRolled, strings.Join(s.Rolled, ", "))
	}
	return text
}

// refusals are what the guards say that block a plan.
func refusals(p plan.Plan) string {
	var details []string
	for _, v := range p.Verdicts {
		if v.Status == plan.Blocked {
			details = append(details, v.Detail)
		}
	}
	return strings.Join(details, " ")
}

// stricter joins the guards of the source with those of the NodePlan, for a
// cluster of so many nodes.
func stricter(source config.Guards, more *lkeplanv1alpha1.PlanGuards, nodes int) config.Guards {
	if more == nil {
		return source
	}
	source.Protected = append(slices.Clone(source.Protected), more.Protected...)
	if more.MaxDeletedPools != nil {
		source.MaxDeletedPools = min(source.MaxDeletedPools, *more.MaxDeletedPools)
	}
	source.MaxDeletedNodes = smaller(source.MaxDeletedNodes, more.MaxDeletedNodes, nodes)
	source.MaxRolledNodes = smaller(source.MaxRolledNodes, more.MaxRolledNodes, nodes)
	return source
}

// smaller is the share that lets fewer of so many nodes go.
func smaller(a config.Share, text string, of int) config.Share {
	if text == "" {
		return a
	}
	number, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(number)
	if err != nil {
		return a // the definition lets no such text pass
	}
	b := config.Share{Text: text, Percent: percent, Number: n}
	if a.Text != "" && hundredths(a, of) <= hundredths(b, of) {
		return a
	}
	return b
}

// hundredths are how many hundredths of a node a share of so many lets go.
func hundredths(s config.Share, of int) int {
	if s.Percent {
		return s.Number * of
	}
	return s.Number * 100
}

// inventory is what is applied now: the objects of head, and of those that were
// there before the ones that are still to go.
func inventory(head compile.Result, before []lkeplanv1alpha1.InventoryEntry, deleted []map[string]any, whole bool) []lkeplanv1alpha1.InventoryEntry {
	entries := map[string]lkeplanv1alpha1.InventoryEntry{}
	for _, m := range append(head.Manifests(), deleted...) {
		e := entryFor(m)
		entries[e.ID] = e
	}
	if !whole {
		// It is not known how far it got: nothing is forgotten.
		for _, e := range before {
			if _, known := entries[e.ID]; !known {
				entries[e.ID] = e
			}
		}
	}
	sorted := make([]lkeplanv1alpha1.InventoryEntry, 0, len(entries))
	for _, e := range entries {
		sorted = append(sorted, e)
	}
	slices.SortFunc(sorted, func(a, b lkeplanv1alpha1.InventoryEntry) int { return strings.Compare(a.ID, b.ID) })
	return sorted
}

// entryFor names an object as Flux's inventories do: namespace_name_group_kind.
func entryFor(obj map[string]any) lkeplanv1alpha1.InventoryEntry {
	apiVersion, _ := obj["apiVersion"].(string)
	gv, _ := schema.ParseGroupVersion(apiVersion) // one without a group is none of ours
	metadata, _ := obj["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	return lkeplanv1alpha1.InventoryEntry{ID: fmt.Sprintf("%s_%v_%s_%v", namespace, metadata["name"], gv.Group, obj["kind"]), V: gv.Version}
}

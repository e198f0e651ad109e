package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/schemas/text"
)

// Quote writes text from the configuration or the cluster, such as names and paths, in the way that a format needs.
type Quote = func(string) string

// Waiting names the budgets that nodes wait for, and until when; "" if the budgets allow a disruption now.
func (p *Pace) Waiting(quote Quote) string {
	if p == nil || p.Now > 0 {
		return ""
	}
	switch {
	case p.Waits && p.Never:
		return "no node can be replaced within a year, because of freezes, windows or budgets"
	case p.Waits:
		return fmt.Sprintf("no node is replaced before %s, because of freezes or windows", text.SoonTime(p.Next))
	}
	budgets, allow := "the budgets", "allow"
	switch len(p.Closed) {
	case 0:
	case 1:
		budgets, allow = "the budget "+quote(p.Closed[0]), "allows"
	default:
		budgets += " " + text.Quoted(p.Closed, quote)
	}
	switch {
	case p.Never:
		return fmt.Sprintf("%s never %s a disruption", budgets, allow)
	case p.Next.IsZero():
		return "no disruption is allowed now: nodes that are already leaving use up the budgets"
	}
	return fmt.Sprintf("%s %s no disruption before %s", budgets, allow, text.SoonTime(p.Next))
}

// Progress describes how far the nodes of a pool match it, and what blocks the others.
func (r Rolling) Progress(quote Quote) (state string, blocked []string) {
	var parts []string
	if r.Condemned != nil {
		parts = append(parts, fmt.Sprintf("draining: %d of %d nodes are left; the pool is deleted after the last one",
			r.Of, max(r.Of, r.Condemned.Nodes)))
		r.Outdated, r.Joining = r.Of, 0
		if soonest := r.Condemned.Soonest; !soonest.IsZero() && len(r.Holds) == 0 {
			parts = append(parts, "if only the budgets of the pool delay nodes, the last one drains about "+text.SoonTime(soonest))
		}
	} else if r.Outdated > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d nodes are still to be replaced", r.Outdated, r.Of))
	}
	if r.Joining > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d nodes have not joined yet", r.Joining, r.Of))
	}
	if sentence := r.Pace.Waiting(quote); sentence != "" && r.Outdated > 0 {
		parts = append(parts, sentence)
	}
	return strings.Join(parts, "; "), Impact{Holds: r.Holds}.Obstacles(quote)
}

// Obstacles describe what blocks the nodes of a pool, and which nodes expire without regard to budgets.
func (im Impact) Obstacles(quote Quote) (lines []string) {
	for _, h := range byWorkload(im.Holds) {
		switch nodes := text.Count(h.Nodes, "node"); h.Reason {
		case HeldByPDB:
			lines = append(lines, nodes+" blocked by the PodDisruptionBudget "+quote(h.Object)+", which allows no eviction")
		case HeldByDoNotDisrupt:
			lines = append(lines, nodes+" blocked by karpenter.sh/do-not-disrupt on "+quote(h.Object))
		case NoOtherPlace:
			if strings.HasPrefix(h.Object, "pod ") {
				lines = append(lines, nodes+" blocked by the "+quote(h.Object)+", which fits on no other pool or node")
			} else {
				lines = append(lines, nodes+" blocked by "+quote(h.Object)+", which fit on no other pool or node")
			}
		case NoRoom:
			lines = append(lines, "no node can be replaced: "+quote(h.Object))
		default:
			lines = append(lines, nodes+" blocked: "+quote(h.Object))
		}
	}
	switch {
	case im.Expiring == 1:
		lines = append(lines, "1 node expires within a week; budgets do not apply")
	case im.Expiring > 1:
		lines = append(lines, fmt.Sprintf("%d nodes expire within a week; budgets do not apply", im.Expiring))
	}
	return lines
}

// byWorkload merges the holds by pods of one workload for the same reason: 5 pods of Deployment shop/web.
func byWorkload(holds []Held) (folded []Held) {
	type key struct {
		reason   HoldReason
		workload string
	}
	at, pods := map[key]int{}, map[key]int{}
	for _, h := range holds {
		k := key{h.Reason, h.Workload}
		i, seen := at[k]
		if h.Workload == "" || h.On == nil || !seen {
			at[k] = len(folded)
			pods[k] = 1
			folded = append(folded, h)
			continue
		}
		pods[k]++
		folded[i].Object = fmt.Sprintf("%d pods of %s", pods[k], h.Workload)
		on := slices.Concat(folded[i].On, h.On)
		slices.Sort(on)
		folded[i].On = slices.Compact(on)
		folded[i].Nodes = len(folded[i].On)
	}
	return folded
}

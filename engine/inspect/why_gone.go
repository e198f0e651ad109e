package inspect

import (
	"cmp"
	"fmt"
	"time"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// goneReasons are what the reasons of the journal mean.
var goneReasons = map[string]string{
	"Drifted":       "it was replaced, as it was not what its pool and its class asked for",
	"Empty":         "no pod was on it but those of DaemonSets",
	"Underutilized": "its pods had room elsewhere, or on a cheaper node",
	"Expired":       "it had the age at which its pool has nodes replaced (expire_after)",
	"Lost":          "it was lost",
	"NeverJoined":   "its machine did not join in time",
	"Deleted":       "its NodeClaim was deleted, and Karpenter gave no reason: by somebody, or with its pool",
}

// losses are what a lost node has lost.
var losses = map[string]string{
	linodev1alpha1.LostMachine: "Linode did not have its machine any more",
	linodev1alpha1.LostNode:    "its Node was deleted first, by somebody or because its Linode was gone",
}

// gone says why a node or a claim went that is in the journal of its class.
func (w *explainer) gone(a *Answer, is func(linodev1alpha1.GoneNode) bool) bool {
	for _, class := range w.Classes {
		for _, g := range class.Status.Gone {
			if is(g) {
				w.explainGone(a, g)
				return true
			}
		}
	}
	return false
}

func (w *explainer) explainGone(a *Answer, g linodev1alpha1.GoneNode) {
	what := "NodeClaim " + g.NodeClaim
	if a.Kind == "node" {
		what = "Node " + g.Node
	}
	cost := catalog.Price{}.AnHour()
	if g.HourlyPrice != "" && g.HourlyPrice != "0" {
		cost = "$" + g.HourlyPrice + " an hour"
	}
	a.Summary = fmt.Sprintf("%s went %s ago, at %s. It was a %s (%s) of pool %s, and was there for %s.", what,
		w.age(g.Time.Time), g.Time.UTC().Format("2006-01-02 15:04 UTC"), g.PlanType, cost, g.NodePool,
		Age(g.Time.Sub(g.Created.Time)))
	text, known := goneReasons[g.Reason]
	if !known {
		text = g.Reason
	}
	if what := cmp.Or(drifts[g.Message], losses[g.Message], g.Message); what != "" {
		text += ": " + what
	}
	texts := []string{text}
	switch {
	case g.Revision != "":
		texts = append(texts, fmt.Sprintf("rolled by %s of NodePlan %s", nodeplan.Short(g.Revision),
			diag.OneLine(g.NodePlan)))
	case drifts[g.Message] != "" && g.Message != string(nodeclaim.PoolDrifted):
		texts = append(texts, "which commit had it replaced is unknown: none is noted on what has changed")
	}
	texts = append(texts, w.unknown("what was applied before", "NodePlans")...)
	for _, np := range w.Plans {
		if applied := before(np, g.Time.Time); applied != nil {
			texts = append(texts, fmt.Sprintf("NodePlan %s had applied %s, at %s", nodeplan.Key(np),
				nodeplan.Short(applied.Revision), applied.Time.UTC().Format("2006-01-02 15:04 UTC")))
		}
	}
	a.add(AboutWent, plainly(texts...)...)
	var said []string
	for _, e := range w.Events {
		if (e.InvolvedObject.Name == g.NodeClaim || e.InvolvedObject.Name == g.Node) && tells(e.Reason) {
			said = append(said, string(e.InvolvedObject.UID))
		}
	}
	a.add(AboutSaid, w.said(said...)...)
}

// before is what a NodePlan had applied last at a time; nil where its history does not
// tell.
func before(np *lkeplanv1alpha1.NodePlan, at time.Time) (last *lkeplanv1alpha1.HistoryEntry) {
	for i, h := range np.Status.History {
		if h.Status == lkeplanv1alpha1.ReasonSucceeded && !h.Time.After(at) && (last == nil || h.Time.After(last.Time.Time)) {
			last = &np.Status.History[i]
		}
	}
	return last
}

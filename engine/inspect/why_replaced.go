package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/disruption"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/maintenance"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// drifts are what the reasons of drift mean.
var drifts = map[string]string{
	"NodePoolDrifted":        "the template of its pool has changed since it was created",
	"RequirementsDrifted":    "its pool no longer allows nodes like it",
	"NodeClassDrift":         "its LinodeNodeClass has changed since it was created",
	"KubernetesVersionDrift": "its LinodeNodeClass names another version of Kubernetes",
	"LKEPoolDrift":           "its LKE pool was changed by another user, and LKE cannot change it back in place",
	"InstanceResized":        "its Linode was resized to another plan type",
}

// replaced explains why a node is or will be replaced; nothing if it is not.
func (w *explainer) replaced(nc *karpv1.NodeClaim) ([]Line, error) {
	outdated, err := ToReplace(w.Snapshot, w.Now)
	if err != nil {
		return nil, err
	}
	var texts []string
	drifted, marked := isTrue(nc, karpv1.ConditionTypeDrifted)
	going, goes := isTrue(nc, karpv1.ConditionTypeDisruptionReason)
	switch {
	case goes:
		texts = append(texts, fmt.Sprintf("Karpenter has decided to remove it: %s", going.Reason))
	case !nc.DeletionTimestamp.IsZero():
		texts = append(texts, fmt.Sprintf("it was deleted %s ago", w.age(nc.DeletionTimestamp.Time)))
	}
	drift := ""
	switch {
	case marked:
		drift = drifted.Reason
		text, known := drifts[drifted.Reason]
		if window := maintenance.Of(nc); drift == string(nodeclaim.MaintenanceDrifted) && window != nil {
			text, known = fmt.Sprintf("Linode maintains its host: %s; its LinodeNodeClass replaces nodes before that", window), true
		}
		if !known {
			text = fmt.Sprintf("Karpenter reports that it has drifted: %q", drifted.Reason)
		}
		texts = append(texts, text)
	case outdated[nc.Name]:
		texts = append(texts, "it differs from its pool or its class; Karpenter has not marked it yet")
	case len(texts) == 0:
		return plainly(w.unknown("whether it differs from its LinodeNodeClass", "LinodeNodeClasses")...), nil
	}
	if byCommit := drift != string(nodeclaim.MaintenanceDrifted); byCommit && (marked || outdated[nc.Name]) {
		texts = append(append(texts, w.rolls(nc, drift)...), w.commit(nc)...)
	}
	for _, p := range w.Status.Pools {
		if p.Name != nc.Labels[karpv1.NodePoolLabelKey] {
			continue
		}
		for _, r := range p.Says {
			switch r.What {
			case RemarkRolling, RemarkHeld, RemarkCondemned, RemarkUnknown:
				texts = append(texts, fmt.Sprintf("of its pool: %s", r.Text))
			}
		}
	}
	return plainly(texts...), nil
}

// rolls reports which revision changed what a node drifts from.
func (w *explainer) rolls(nc *karpv1.NodeClaim, reason string) []string {
	pool, class := w.poolOf(nc), w.classOf(nc)
	if pool != nil && pool.Annotations[schemas.AnnotationRemoval] != "" {
		return nil // it is draining, which is reported
	}
	if reason == "" {
		reason = driftOf(nc, pool, class)
	}
	what := "template of pool " + nc.Labels[karpv1.NodePoolLabelKey]
	if nodeclaim.DoneOutside(reason) {
		return nil
	}
	switch cloudprovider.DriftReason(reason) {
	case nodeclaim.NodeClassDrifted, nodeclaim.VersionDrifted:
		if texts := w.unknown("the commit that has changed its LinodeNodeClass", "LinodeNodeClasses"); texts != nil {
			return texts
		}
		what = "LinodeNodeClass of it"
	}
	by, known := linode.RolledBy(reason, pool, class)
	if !known {
		return []string{fmt.Sprintf("which commit changed the %s is unknown: the object does not record it", what)}
	}
	return []string{fmt.Sprintf("the %s was changed by %s of NodePlan %s", what, nodeplan.Short(by.Name),
		diag.OneLine(by.NodePlan))}
}

// driftOf is the reason with which Karpenter will mark a node that it has not marked yet.
func driftOf(nc *karpv1.NodeClaim, pool *karpv1.NodePool, class *linodev1alpha1.LinodeNodeClass) string {
	switch {
	case pool != nil && nc.Annotations[karpv1.NodePoolHashAnnotationKey] != pool.Hash():
		return string(disruption.NodePoolDrifted)
	case class != nil && nc.Annotations[linodev1alpha1.AnnotationHash] != class.Hash():
		return string(nodeclaim.NodeClassDrifted)
	}
	return string(disruption.RequirementsDrifted)
}

func (w *explainer) classOf(nc *karpv1.NodeClaim) *linodev1alpha1.LinodeNodeClass {
	for _, class := range w.Classes {
		if ref := nc.Spec.NodeClassRef; ref != nil && class.Name == ref.Name {
			return class
		}
	}
	return nil
}

// commit reports which revisions have changed a node's pool since it was created, if
// NodePlans have them, or who changed the pool last.
func (w *explainer) commit(nc *karpv1.NodeClaim) (texts []string) {
	pool := w.poolOf(nc)
	if pool == nil {
		return nil
	}
	if texts := w.unknown("which NodePlan applies its pool, and since when,", "NodePlans"); texts != nil {
		return texts
	}
	for _, np := range w.Plans {
		if !slices.ContainsFunc(np.Status.Inventory, func(e lkeplanv1alpha1.InventoryEntry) bool {
			return strings.HasSuffix(e.ID, "_"+pool.Name+"_karpenter.sh_NodePool")
		}) {
			continue
		}
		var since []string
		for _, h := range np.Status.History {
			if h.Time.After(nc.CreationTimestamp.Time) && len(since) < mostRevisions {
				since = append(since, fmt.Sprintf("%s at %s (%s)", nodeplan.Short(h.Revision),
					h.Time.UTC().Format("2006-01-02 15:04 UTC"), h.Status))
			}
		}
		texts = append(texts, fmt.Sprintf("NodePlan %s has applied %s", nodeplan.Key(np),
			nodeplan.Short(np.Status.LastAppliedRevision)))
		if len(since) > 0 {
			texts = append(texts, "its revisions since the node was created: "+strings.Join(since, ", "))
		}
	}
	if len(texts) > 0 {
		return texts
	}
	var who string
	var at time.Time
	for _, e := range pool.ManagedFields {
		if e.Subresource == "" && e.Time != nil && e.Time.After(at) {
			who, at = e.Manager, e.Time.Time
		}
	}
	if who == "" {
		return nil
	}
	return []string{fmt.Sprintf("no NodePlan applies its pool; %s changed it last, %s ago", who, w.age(at))}
}

const mostRevisions = 5

// goneReasons are what the reasons of the journal mean.
var goneReasons = map[string]string{
	"Drifted":       "it differed from its pool or its class, and was replaced",
	"Empty":         "it had no pods except those of DaemonSets",
	"Underutilized": "its pods fitted on other nodes, or on a cheaper one",
	"Expired":       "it reached the age at which nodes of its pool are replaced (expire_after)",
	"Lost":          "it was lost",
	"NeverJoined":   "its machine did not join in time",
	"Deleted":       "its NodeClaim was deleted by a user or with its pool: Karpenter gave no reason",
}

// losses explain why a node was lost.
var losses = map[string]string{
	linodev1alpha1.LostMachine: "its machine no longer existed at Linode",
	linodev1alpha1.LostNode:    "its Node was deleted first, by a user or because its Linode no longer existed",
}

// gone explains why a node or a claim in the journal of its class was removed.
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
	a.Summary = fmt.Sprintf("%s was removed %s ago, at %s. It was a %s (%s) of pool %s, and existed for %s.", what,
		w.age(g.Time.Time), g.Time.UTC().Format("2006-01-02 15:04 UTC"), g.PlanType, cost, g.NodePool,
		Age(g.Time.Sub(g.Created.Time)))
	text, known := goneReasons[g.Reason]
	if !known {
		text = fmt.Sprintf("the journal of its class has %q", g.Reason)
	}
	if what := cmp.Or(drifts[g.Message], losses[g.Message], g.Message); what != "" {
		text += ": " + what
	}
	texts := []string{text}
	switch {
	case g.Revision != "":
		texts = append(texts, fmt.Sprintf("rolled by %s of NodePlan %s", nodeplan.Short(g.Revision),
			diag.OneLine(g.NodePlan)))
	case drifts[g.Message] != "" && !nodeclaim.DoneOutside(g.Message):
		texts = append(texts, "which commit caused it is unknown: the changed object does not record it")
	}
	texts = append(texts, w.unknown("what was applied before", "NodePlans")...)
	for _, np := range w.Plans {
		if applied := before(np, g.Time.Time); applied != nil {
			texts = append(texts, fmt.Sprintf("NodePlan %s had applied %s, at %s", nodeplan.Key(np),
				nodeplan.Short(applied.Revision), applied.Time.UTC().Format("2006-01-02 15:04 UTC")))
		}
	}
	a.add(AboutWent, plainly(texts...)...)
	a.add(AboutSaid, w.said(cluster.Subject{Kind: "NodeClaim", Name: g.NodeClaim}, cluster.Subject{Kind: "Node", Name: g.Node})...)
}

// before is what a NodePlan had applied last at a time; nil if its history does not have it.
func before(np *lkeplanv1alpha1.NodePlan, at time.Time) (last *lkeplanv1alpha1.HistoryEntry) {
	for i, h := range np.Status.History {
		if h.Status == lkeplanv1alpha1.ReasonSucceeded && !h.Time.After(at) && (last == nil || h.Time.After(last.Time.Time)) {
			last = &np.Status.History[i]
		}
	}
	return last
}

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
	"github.com/lkeplan/lkeplan/engine/rings"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/inplace"
	"github.com/lkeplan/lkeplan/linode/maintenance"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// drifts are what the reasons of drift mean.
var drifts = map[string]string{
	"NodePoolDrifted":        "the template of its pool has changed since the node was created",
	"RequirementsDrifted":    "its pool no longer allows such a node",
	"NodeClassDrift":         "its LinodeNodeClass has changed since the node was created",
	"KubernetesVersionDrift": "its LinodeNodeClass names another version of Kubernetes",
	"LKEPoolDrift":           "another user changed its LKE pool, and LKE cannot revert that change in place",
	"InstanceResized":        "its Linode was resized to another plan type",
}

// replaced explains why a node is being removed (AboutRemoved), or will be replaced (AboutReplaced). Of a node that stays, about
// is "", and the lines are what is unknown.
func (w *reader) replaced(nc *karpv1.NodeClaim) (about About, lines []Line, err error) {
	rolls, err := w.outdated()
	if err != nil {
		return "", nil, err
	}
	var texts []string
	drifted, going := condition(nc, karpv1.ConditionTypeDrifted), condition(nc, karpv1.ConditionTypeDisruptionReason)
	marked := drifted.IsTrue()
	switch {
	case going.IsTrue():
		texts = append(texts, fmt.Sprintf("Karpenter has decided to remove the node: %s", going.Reason))
	case !nc.DeletionTimestamp.IsZero():
		texts = append(texts, fmt.Sprintf("the deletion of NodeClaim %s started %s ago", nc.Name, w.age(nc.DeletionTimestamp.Time)))
	}
	if about = AboutReplaced; len(texts) > 0 {
		about = AboutRemoved
	}
	pool, drift := nc.Labels[karpv1.NodePoolLabelKey], ""
	switch draining := w.draining(nc); {
	case marked && !draining:
		drift = drifted.Reason
		text, known := drifts[drifted.Reason]
		if window := maintenance.Of(nc); drift == string(nodeclaim.MaintenanceDrifted) && window != nil {
			text, known = w.work(window)+", for which its LinodeNodeClass replaces nodes", true
		}
		if !known {
			text = fmt.Sprintf("Karpenter reports that the node has drifted: %q", drifted.Reason)
		}
		texts = append(append(texts, text), w.awaited(nc)...)
	case rolls.outdated[nc.Name] && !draining:
		texts = append(texts, "the node differs from its pool or its LinodeNodeClass; Karpenter has not marked it as drifted yet")
	case marked || rolls.outdated[nc.Name]:
		about = AboutRemoved // the state of the pool is the reason
	case len(texts) == 0:
		return "", plainly(w.unknown("whether the node differs from its LinodeNodeClass", "LinodeNodeClasses")...), nil
	}
	if byCommit := drift != string(nodeclaim.MaintenanceDrifted); byCommit && (marked || rolls.outdated[nc.Name]) {
		texts = append(append(texts, w.rolls(nc, drift)...), w.commit(nc)...)
	}
	for _, p := range w.Status.Pools {
		if p.Name != pool {
			continue
		}
		for _, r := range p.Says {
			switch r.What {
			case RemarkCondemned:
				texts = append(texts, fmt.Sprintf("pool %s is %s", pool, r.Text))
			case RemarkRolling, RemarkUnknown:
				texts = append(texts, fmt.Sprintf("pool %s: %s", pool, r.Text))
			}
		}
	}
	return about, plainly(texts...), nil
}

// draining reports whether the pool of a claim is draining.
func (w *reader) draining(nc *karpv1.NodeClaim) bool {
	pool := w.poolOf(nc)
	return pool != nil && pool.Annotations[schemas.AnnotationRemoval] != ""
}

// rolls reports which revision changed what a node drifts from.
func (w *reader) rolls(nc *karpv1.NodeClaim, reason string) []string {
	pool, class := w.poolOf(nc), w.classOf(nc)
	if w.draining(nc) {
		return nil // which is reported
	}
	if reason == "" {
		reason = driftOf(nc, pool, class)
	}
	what := "the template of pool " + nc.Labels[karpv1.NodePoolLabelKey]
	if nodeclaim.DoneOutside(reason) {
		return nil
	}
	switch cloudprovider.DriftReason(reason) {
	case nodeclaim.NodeClassDrifted, nodeclaim.VersionDrifted:
		if texts := w.unknown("the commit that changed its LinodeNodeClass", "LinodeNodeClasses"); texts != nil {
			return texts
		}
		what = "its LinodeNodeClass"
	}
	by, known := linode.RolledBy(reason, pool, class)
	if !known {
		return []string{fmt.Sprintf("the commit that changed %s is unknown: the object does not record it", what)}
	}
	return []string{fmt.Sprintf("revision %s of NodePlan %s changed %s", nodeplan.Short(by.Name), diag.OneLine(by.NodePlan), what)}
}

// driftOf is the reason with which Karpenter will mark a node that it has not marked yet.
func driftOf(nc *karpv1.NodeClaim, pool *karpv1.NodePool, class *linodev1alpha1.LinodeNodeClass) string {
	switch {
	case pool != nil && inplace.TemplateOf(pool).Drifted(nc.Labels, nc.Annotations):
		return string(disruption.NodePoolDrifted)
	case class != nil && nc.Annotations[linodev1alpha1.AnnotationHash] != class.Hash():
		return string(nodeclaim.NodeClassDrifted)
	}
	return string(disruption.RequirementsDrifted)
}

func (w *reader) classOf(nc *karpv1.NodeClaim) *linodev1alpha1.LinodeNodeClass {
	if nc.Spec.NodeClassRef == nil {
		return nil
	}
	return named(w.Classes, nc.Spec.NodeClassRef.Name)
}

// appliers are the NodePlans that have applied a pool.
func (w *reader) appliers(pool *karpv1.NodePool) (plans []*lkeplanv1alpha1.NodePlan) {
	for _, np := range w.Plans {
		if slices.ContainsFunc(np.Status.Inventory, func(e lkeplanv1alpha1.InventoryEntry) bool {
			return strings.HasSuffix(e.ID, "_"+pool.Name+"_karpenter.sh_NodePool")
		}) {
			plans = append(plans, np)
		}
	}
	return plans
}

// inOrder reports a revision of the pool's NodePlan that waits for the clusters of another ring.
func (w *reader) inOrder(pool *karpv1.NodePool) (texts []string) {
	for _, np := range w.appliers(pool) {
		if r := np.Status.Ring; r != nil && r.Waiting != nil {
			texts = append(texts, fmt.Sprintf("revision %s of NodePlan %s is not applied yet: %s",
				nodeplan.Short(r.Waiting.Revision), nodeplan.Key(np), rings.WaitText(r.Waiting)))
		}
	}
	return texts
}

// commit reports which revisions have changed a node's pool since it was created, if
// NodePlans have them, or who changed the pool last.
func (w *reader) commit(nc *karpv1.NodeClaim) (texts []string) {
	pool := w.poolOf(nc)
	if pool == nil {
		return nil
	}
	if texts := w.unknown("which NodePlan applies pool "+pool.Name, "NodePlans"); texts != nil {
		return texts
	}
	for _, np := range w.appliers(pool) {
		var since []string
		for _, h := range np.Status.History {
			if h.Time.After(nc.CreationTimestamp.Time) && len(since) < mostRevisions {
				since = append(since, fmt.Sprintf("%s at %s (%s)", nodeplan.Short(h.Revision),
					h.Time.UTC().Format("2006-01-02 15:04 UTC"), h.Status))
			}
		}
		texts = append(texts, fmt.Sprintf("NodePlan %s, which applies pool %s, last applied %s", nodeplan.Key(np), pool.Name,
			nodeplan.Short(np.Status.LastAppliedRevision)))
		if len(since) > 0 {
			texts = append(texts, "revisions of the NodePlan since the node was created: "+strings.Join(since, ", "))
		}
	}
	texts = append(texts, w.inOrder(pool)...)
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
	return []string{fmt.Sprintf("no NodePlan applies pool %s; the last change of the pool was by %s, %s ago", pool.Name, who, w.age(at))}
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
func (w *reader) gone(a *Answer, is func(linodev1alpha1.GoneNode) bool) bool {
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

func (w *reader) explainGone(a *Answer, g linodev1alpha1.GoneNode) {
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
		texts = append(texts, fmt.Sprintf("revision %s of NodePlan %s caused the replacement", nodeplan.Short(g.Revision),
			diag.OneLine(g.NodePlan)))
	case drifts[g.Message] != "" && !nodeclaim.DoneOutside(g.Message):
		texts = append(texts, "the commit that caused the replacement is unknown: the changed object does not record it")
	}
	texts = append(texts, w.unknown("which revision was applied at that time", "NodePlans")...)
	for _, np := range w.Plans {
		if applied := before(np, g.Time.Time); applied != nil {
			texts = append(texts, fmt.Sprintf("at that time, the last revision of NodePlan %s was %s, applied at %s", nodeplan.Key(np),
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

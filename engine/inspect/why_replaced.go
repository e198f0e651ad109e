package inspect

import (
	"cmp"
	"fmt"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/disruption"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/inplace"
	"github.com/lkeplan/lkeplan/linode/maintenance"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// drifts explain the reasons of drift.
var drifts = map[string]string{
	"NodePoolDrifted":        "the template of its pool has changed since the node was created",
	"RequirementsDrifted":    "its pool no longer allows such a node",
	"NodeClassDrift":         "its LinodeNodeClass has changed since the node was created",
	"KubernetesVersionDrift": "its LinodeNodeClass names another version of Kubernetes",
	"LKEPoolDrift":           "another user changed its LKE pool, and LKE cannot revert that change in place",
	"RefreshAfter":           "it has reached the age at which its pool replaces nodes",
	"InstanceResized":        "its Linode was resized to another plan type",
}

// replaced explains why a node is being removed (AboutRemoved), or will be replaced (AboutReplaced). For a node
// that stays, about is "".
func (w *reader) replaced(nc *karpv1.NodeClaim) (about About, lines []Line) {
	var texts []string
	drifted, going := claimCondition(nc, karpv1.ConditionTypeDrifted), claimCondition(nc, karpv1.ConditionTypeDisruptionReason)
	marked := drifted.IsTrue()
	switch {
	case going.IsTrue():
		texts = append(texts, fmt.Sprintf("Karpenter has decided to remove the node: %s", going.Reason))
		if isConsolidated(nc) {
			moved := w.movedBy(nc.Name)
			texts = append(texts, cmp.Or(moved, w.unrecorded()))
			if e := w.priceChange(w.Snapshot.Pools...); e != nil && moved == "" {
				texts = append(texts, fmt.Sprintf("pool %s, %s ago: %s", e.InvolvedObject.Name, w.ageOf(e), diag.Shorten(e.Message, mostSaid)))
			}
		}
	case !nc.DeletionTimestamp.IsZero():
		texts = append(texts, fmt.Sprintf("the deletion of NodeClaim %s started %s ago", nc.Name, w.age(nc.DeletionTimestamp.Time)))
	}
	about = AboutReplaced
	if len(texts) > 0 {
		about = AboutRemoved
	}
	pool, drift := nc.Labels[karpv1.NodePoolLabelKey], ""
	switch draining := w.draining(nc); {
	case marked && !draining:
		drift = drifted.Reason
		text, known := drifts[drifted.Reason]
		if window := maintenance.Of(nc); drift == string(nodeclaim.MaintenanceDrifted) && window != nil {
			text, known = fmt.Sprintf("maintenance of its host, for which its LinodeNodeClass replaces nodes: %s", diag.OneLine(window.String())), true
		}
		if !known {
			text = fmt.Sprintf("Karpenter reports that the node has drifted: %q", drifted.Reason)
		}
		texts = append(append(texts, text), w.awaited(nc)...)
		if drift == string(nodeclaim.AgeDrifted) {
			texts = append(texts, w.aged(nc)...)
		}
	case w.rolls.outdated[nc.Name] && !draining:
		texts = append(texts, "the node differs from its pool or its LinodeNodeClass; Karpenter has not marked it as drifted yet")
	case marked || w.rolls.outdated[nc.Name]:
		about = AboutRemoved // the state of the pool is the reason
	case len(texts) == 0:
		return "", nil
	}
	if byCommit := drift != string(nodeclaim.MaintenanceDrifted); byCommit && (marked || w.rolls.outdated[nc.Name]) {
		texts = append(texts, w.rolledBy(nc, drift)...)
	}
	for _, p := range w.Status.Pools {
		if p.Name != pool {
			continue
		}
		for _, r := range p.Says {
			switch r.What {
			case RemarkCondemned:
				texts = append(texts, fmt.Sprintf("pool %s is %s", pool, r.Text))
			case RemarkRolling:
				texts = append(texts, fmt.Sprintf("pool %s: %s", pool, r.Text))
			}
		}
	}
	return about, plainLines(texts...)
}

// isConsolidated reports whether Karpenter removes or replaces a node because it is empty or other capacity is cheaper.
func isConsolidated(nc *karpv1.NodeClaim) bool {
	going := claimCondition(nc, karpv1.ConditionTypeDisruptionReason)
	if !going.IsTrue() {
		return false
	}
	reason := karpv1.DisruptionReason(going.Reason)
	return reason == karpv1.DisruptionReasonUnderutilized || reason == karpv1.DisruptionReasonEmpty
}

// movedBy returns the revision for which Karpenter moves a node, by the name of its NodeClaim or its Node, and the
// saving, as a NodePlan has recorded them; "" if none has.
func (w *reader) movedBy(name string) string {
	for _, np := range w.Plans {
		p := np.Status.Plan
		if p == nil || p.Revision != np.Status.LastAppliedRevision || np.Spec.Mode == lkeplanv1alpha1.ModePlanOnly {
			continue // it is not applied
		}
		for _, m := range p.Moves {
			if m.NodeClaim == name || m.Node == name {
				return fmt.Sprintf("revision %s of NodePlan %s/%s lets Karpenter move the node %s", nodeplan.Short(p.Revision), np.Namespace,
					np.Name, diag.OneLine(m.Effect))
			}
		}
	}
	return ""
}

// unrecorded explains, for a node that Karpenter moves, that no NodePlan has recorded the reason.
func (w *reader) unrecorded() string {
	if unread := w.Unread(cluster.KindPlans); unread != "" {
		return "whether a commit lets Karpenter move the node is unknown: " + unread
	}
	return "whether a commit lets Karpenter move the node is unknown: no NodePlan names the node in its last plan"
}

// draining reports whether the pool of a claim is draining.
func (w *reader) draining(nc *karpv1.NodeClaim) bool {
	pool := w.poolOf(nc)
	return pool != nil && pool.Annotations[schemas.AnnotationRemoval] != ""
}

// rolledBy reports which revision changed what a node drifts from.
func (w *reader) rolledBy(nc *karpv1.NodeClaim, reason string) []string {
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
		if class == nil {
			return nil // it was deleted, or cannot be listed
		}
		what = "its LinodeNodeClass"
	}
	by, known := linode.RolledBy(reason, pool, class)
	if !known {
		return []string{fmt.Sprintf("the commit that changed %s is unknown: the object does not record it", what)}
	}
	return []string{fmt.Sprintf("revision %s of NodePlan %s changed %s", nodeplan.Short(by.Name), diag.OneLine(by.NodePlan), what)}
}

// driftOf returns the reason with which Karpenter will mark a node that it has not marked yet.
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
	return findNamed(w.Classes, nc.Spec.NodeClassRef.Name)
}

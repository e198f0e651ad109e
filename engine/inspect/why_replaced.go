package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/disruption"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// drifts are what the reasons of drift mean.
var drifts = map[string]string{
	"NodePoolDrifted":        "the template of its pool has changed since it was made",
	"RequirementsDrifted":    "its pool no longer allows nodes like it",
	"NodeClassDrift":         "its LinodeNodeClass has changed since it was made",
	"KubernetesVersionDrift": "its LinodeNodeClass names another version of Kubernetes",
	"LKEPoolDrift":           "its LKE pool was changed by somebody else, and LKE cannot change it back in place",
}

// replaced says why a node is replaced, or has to be; nothing where it has not.
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
		texts = append(texts, fmt.Sprintf("Karpenter has decided to let it go: %s", going.Reason))
	case !nc.DeletionTimestamp.IsZero():
		texts = append(texts, fmt.Sprintf("it was deleted %s ago", w.age(nc.DeletionTimestamp.Time)))
	}
	drift := ""
	switch {
	case marked:
		drift = drifted.Reason
		text, known := drifts[drifted.Reason]
		if !known {
			text = drifted.Reason
		}
		texts = append(texts, text)
	case outdated[nc.Name]:
		texts = append(texts, "it is not what its pool and its class ask for; Karpenter has not marked it yet")
	case len(texts) == 0:
		return plainly(w.unknown("whether it differs from its LinodeNodeClass", "LinodeNodeClasses")...), nil
	}
	if marked || outdated[nc.Name] {
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

// rolls says which revision has changed what a node drifts from.
func (w *explainer) rolls(nc *karpv1.NodeClaim, reason string) []string {
	pool, class := w.poolOf(nc), w.classOf(nc)
	if pool != nil && pool.Annotations[schemas.AnnotationRemoval] != "" {
		return nil // it is condemned, which is said of it
	}
	if reason == "" {
		reason = driftOf(nc, pool, class)
	}
	what := "template of pool " + nc.Labels[karpv1.NodePoolLabelKey]
	switch cloudprovider.DriftReason(reason) {
	case nodeclaim.PoolDrifted:
		return nil // no commit has done that
	case nodeclaim.NodeClassDrifted, nodeclaim.VersionDrifted:
		if texts := w.unknown("the commit that has changed its LinodeNodeClass", "LinodeNodeClasses"); texts != nil {
			return texts
		}
		what = "LinodeNodeClass of it"
	}
	by, known := linode.RolledBy(reason, pool, class)
	if !known {
		return []string{fmt.Sprintf("which commit has changed the %s is unknown: none is noted on it", what)}
	}
	return []string{fmt.Sprintf("the %s was changed by %s of NodePlan %s", what, nodeplan.Short(by.Name),
		diag.OneLine(by.NodePlan))}
}

// driftOf is the reason for which Karpenter will mark a node that it has not marked yet.
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

// commit says which revisions have changed a node's pool since it was made, as far as
// NodePlans tell, or who has written the pool.
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
			texts = append(texts, "its revisions since the node was made: "+strings.Join(since, ", "))
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
	return []string{fmt.Sprintf("no NodePlan applies its pool, which %s wrote last, %s ago", who, w.age(at))}
}

// mostRevisions are named.
const mostRevisions = 5

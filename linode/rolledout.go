package linode

import (
	"fmt"
	"maps"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/disruption"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/linode/inplace"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// ConditionRolledOut on a NodePool reports how many of its nodes match its template, its class and its version:
// True if all do. Argo CD and kubectl wait read it. Karpenter has no such condition yet
// (kubernetes-sigs/karpenter#3071, #1785).
const ConditionRolledOut = "RolledOut"

// rolledOut returns the status, the reason and the message of the condition, from all NodeClaims of a pool. It
// compares templates directly, because Karpenter marks drifted nodes only some time after a change of the pool. Nodes
// that a commit does not replace, such as those on a host under maintenance, count as rolled out, as do all nodes
// that may join later. An outdated node counts until it is gone.
func rolledOut(pool *karpv1.NodePool, claims []karpv1.NodeClaim) (_ corev1.ConditionStatus, reason, message string) {
	template, requirements := inplace.TemplateOf(pool),
		scheduling.NewNodeSelectorRequirementsWithMinValues(pool.Spec.Template.Spec.Requirements...)
	current, outdated, unknown := 0, 0, 0
	for i := range claims {
		nc := &claims[i]
		_, stamped := nc.Annotations[karpv1.NodePoolHashAnnotationKey]
		comparable := stamped && nc.Annotations[karpv1.NodePoolHashVersionAnnotationKey] == karpv1.NodePoolHashVersion
		launched := nc.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeLaunched).IsTrue() // the claim then has all labels
		switch {
		case comparable && template.Drifted(nc.Labels, nc.Annotations) || isDrifted(nc) ||
			launched && scheduling.NewLabelRequirements(nc.Labels).Compatible(requirements) != nil:
			outdated++
		case !nc.DeletionTimestamp.IsZero():
		case !comparable:
			unknown++
		case nc.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeInitialized).IsTrue():
			current++
		}
	}
	all := current + outdated + unknown
	if pool.Spec.Replicas != nil {
		all = max(all, int(*pool.Spec.Replicas))
	}
	message = fmt.Sprintf("%d of %d nodes have the template of the pool", current, all)
	switch {
	case all == 0:
		return corev1.ConditionTrue, "NoNodes", "the pool has no nodes"
	case current == all:
		return corev1.ConditionTrue, ConditionRolledOut, message
	case outdated == 0 && unknown > 0:
		return corev1.ConditionUnknown, "NotCompared", message +
			"; the others have no hash of this version of Karpenter, which updates it"
	}
	return corev1.ConditionFalse, "Rolling", message
}

// isDrifted reports whether Karpenter has found that a node differs from its pool, its class or its version.
func isDrifted(nc *karpv1.NodeClaim) bool {
	c := nc.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeDrifted)
	if !c.IsTrue() {
		return false
	}
	switch cloudprovider.DriftReason(c.Reason) {
	case disruption.NodePoolDrifted, disruption.RequirementsDrifted, nodeclaim.NodeClassDrifted, nodeclaim.VersionDrifted:
		return true
	}
	return false
}

// setRolledOut sets the condition in memory.
func setRolledOut(conditions status.ConditionSet, pool *karpv1.NodePool, claims []karpv1.NodeClaim) {
	switch found, reason, message := rolledOut(pool, claims); found {
	case corev1.ConditionTrue:
		conditions.SetTrueWithReason(ConditionRolledOut, reason, message)
	case corev1.ConditionFalse:
		conditions.SetFalse(ConditionRolledOut, reason, message)
	default:
		conditions.SetUnknownWithReason(ConditionRolledOut, reason, message)
	}
}

// rolloutChanges are the changes of a NodeClaim that can change the condition.
var rolloutChanges = predicate.Funcs{UpdateFunc: func(ev event.UpdateEvent) bool {
	was, okWas := ev.ObjectOld.(*karpv1.NodeClaim)
	is, okIs := ev.ObjectNew.(*karpv1.NodeClaim)
	if !okWas || !okIs {
		return false
	}
	for _, kind := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeInitialized, karpv1.ConditionTypeDrifted} {
		before, after := was.StatusConditions(status.WithObservedOnly()).Get(kind), is.StatusConditions(status.WithObservedOnly()).Get(kind)
		if before.IsTrue() != after.IsTrue() || before != nil && after != nil && before.Reason != after.Reason {
			return true
		}
	}
	return was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero() || !maps.Equal(was.Labels, is.Labels) ||
		!maps.Equal(was.Annotations, is.Annotations)
}}

package inspect

import (
	"context"
	"fmt"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/linode"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// closed looks for plans that the account may not have, as the controller found out: the API has no list of them. All
// classes say the same, so one finding is enough.
func (p Installation) closed(ctx context.Context) []Finding {
	const of = "account limits"
	classes, err := cluster.List[linodev1alpha1.LinodeNodeClass](ctx, p.Cluster, linodev1alpha1.Group+"/v1", "LinodeNodeClass")
	if err != nil {
		return notKnown(of, err)
	}
	for _, class := range classes {
		if c := class.StatusConditions(status.WithObservedOnly()).Get(linodev1alpha1.ConditionPlanClosed); c.IsTrue() {
			return []Finding{{LevelWarn, of, "LinodeNodeClass " + class.Name + ": " + c.Message,
				"ask Linode Support for access to the plan, or take it out of the NodePools"}}
		}
	}
	return nil
}

// refusals are the events that a person has to act on before LKE does what the controller asks, and what to do.
var refusals = []struct{ reason, of, do string }{
	{"LinodeAccountLimit", "account limits", "ask Linode Support to raise the limit, or delete what is not needed"},
	{"LKELocked", "locks", "take the lock off the LKE node pool or the cluster: what it keeps costs"},
}

// limited looks for what Linode refused in the last two hours, as the controller's events of NodeClaims say: the API has
// no list of limits, and the one of locks is not known. NodeClaims have no namespace, so that their events are in
// default, where tenants do not write.
func (p Installation) limited(ctx context.Context) (found []Finding) {
	events, err := cluster.List[corev1.Event](ctx, p.Cluster, "v1", "Event")
	if err != nil {
		return notKnown("account limits and locks", err)
	}
	for _, r := range refusals {
		var last *corev1.Event
		for _, e := range events {
			if e.Reason != r.reason || e.Namespace != metav1.NamespaceDefault || e.InvolvedObject.Kind != "NodeClaim" {
				continue
			}
			if seen := cluster.LastSeen(e); p.Now().Sub(seen) < 2*time.Hour && (last == nil || seen.After(cluster.LastSeen(last))) {
				last = e
			}
		}
		if last != nil {
			found = append(found, Finding{LevelWarn, r.of, fmt.Sprintf("NodeClaim %s, at %s: %s", last.InvolvedObject.Name,
				cluster.LastSeen(last).UTC().Format("15:04 UTC"), last.Message), r.do})
		}
	}
	return found
}

// unaccepted looks for NodePools that the controller makes no node for, as they are.
func (p Installation) unaccepted(ctx context.Context) (found []Finding) {
	const of = "NodePools"
	pools, err := cluster.List[karpv1.NodePool](ctx, p.Cluster, "karpenter.sh/v1", "NodePool")
	if err != nil {
		return notKnown(of, err)
	}
	for _, pool := range pools {
		if c := pool.StatusConditions(status.WithObservedOnly()).Get(linode.ConditionAccepted); c.IsFalse() {
			found = append(found, Finding{LevelWarn, of, "NodePool " + pool.Name + " gets no node: " + c.Message,
				"correct what it says"})
		}
	}
	return found
}

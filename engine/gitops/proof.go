package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/config"
	clusters "github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/report"
	"github.com/lkeplan/lkeplan/engine/rollout"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/schemas"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// proofReader reads the state of a first wave from a cluster: its nodes, and events about missing nodes. Package
// rollout decides what follows from it.
type proofReader struct {
	Cache client.Reader // of NodePools, NodeClaims and nodes
	Live  client.Reader // of events, which are not cached
}

// Identify records the initial state of a rollout: the hashes that new nodes of its pools will have, and the
// NodeClaims that already match head. m compares the nodes with head, was with the previous revision.
func (r proofReader) Identify(
	ctx context.Context, s *lkeplanv1alpha1.RolloutStatus, head []config.Object, m, was compare.Measured,
) error {
	read, err := clusters.Cached(ctx, r.Cache, &karpv1.NodeClaimList{}, &karpv1.NodePoolList{})
	if err != nil {
		return err
	}
	at := map[string]*lkeplanv1alpha1.RolloutPool{}
	for i := range s.Pools {
		at[s.Pools[i].Name] = &s.Pools[i]
	}
	for _, o := range head {
		if p := at[o.Name()]; p != nil && o.Kind() == schemas.Pool.Object.Kind {
			if p.Hash, err = plan.TemplateHash(o.Defaulted); err != nil {
				return fmt.Errorf("read %s: %w", o.Addr, err)
			}
		}
	}
	for _, claim := range read.Claims {
		if p := at[claim.Labels[karpv1.NodePoolLabelKey]]; p != nil && !m.Outdated[claim.Name] {
			p.Earlier = append(p.Earlier, claim.Name)
		}
		if isDrifted(claim) && !was.Outdated[claim.Name] {
			s.Drifted = append(s.Drifted, claim.Name)
		}
	}
	for _, pool := range read.Pools {
		if p := at[pool.Name]; p != nil {
			if c := unhealthyPool(pool); c != nil {
				p.Unhealthy = &c.LastTransitionTime
			}
		}
	}
	return nil
}

// Wave returns the current state of the pools of a rollout, in their order. m tells which nodes
// match the revision.
func (r proofReader) Wave(
	ctx context.Context, s *lkeplanv1alpha1.RolloutStatus, m compare.Measured,
) ([]rollout.Pool, error) {
	read, err := clusters.Cached(ctx, r.Cache, &karpv1.NodeClaimList{}, &corev1.NodeList{}, &karpv1.NodePoolList{})
	if err != nil {
		return nil, fmt.Errorf("list the nodes of the first wave: %w", err)
	}
	wave, at := make([]rollout.Pool, len(s.Pools)), map[string]*rollout.Pool{}
	known := map[string]lkeplanv1alpha1.RolloutPool{}
	for i, p := range s.Pools {
		wave[i] = rollout.Pool{Name: p.Name}
		at[p.Name], known[p.Name] = &wave[i], p
	}
	byName := make(map[string]*corev1.Node, len(read.Nodes))
	for _, node := range read.Nodes {
		byName[node.Name] = node
	}
	for _, claim := range read.Claims {
		p := at[claim.Labels[karpv1.NodePoolLabelKey]]
		if p != nil && !m.Outdated[claim.Name] && isNew(claim, known[p.Name]) {
			p.New = append(p.New, rolloutNode(claim, byName[claim.Status.NodeName]))
		}
	}
	recordHolds(at, m)
	if err := r.readEvents(ctx, at, clusterTime(read.Nodes)); err != nil {
		return nil, err
	}
	for _, pool := range read.Pools {
		if p := at[pool.Name]; p != nil {
			before := known[p.Name].Unhealthy
			if c := unhealthyPool(pool); c != nil && !c.LastTransitionTime.Equal(before) {
				p.Unhealthy = c.Message
			}
			if ready := pool.StatusConditions().Root(); ready.IsFalse() {
				p.Blocked = "the NodePool is not ready: " + ready.Message
			}
		}
	}
	return wave, nil
}

// isNew reports whether a NodeClaim was created for the wave of a pool: it carries the hash of its
// template, and did not exist before.
func isNew(claim *karpv1.NodeClaim, p lkeplanv1alpha1.RolloutPool) bool {
	return claim.DeletionTimestamp.IsZero() &&
		claim.Annotations[karpv1.NodePoolHashAnnotationKey] == p.Hash &&
		claim.Annotations[karpv1.NodePoolHashVersionAnnotationKey] == karpv1.NodePoolHashVersion &&
		!slices.Contains(p.Earlier, claim.Name)
}

// clusterTime returns the latest time that a kubelet has written. The clock of this process may differ.
func clusterTime(machines []*corev1.Node) (now time.Time) {
	for _, machine := range machines {
		for _, c := range machine.Status.Conditions {
			if c.LastHeartbeatTime.After(now) {
				now = c.LastHeartbeatTime.Time
			}
		}
	}
	return now
}

// SeenByKarpenter reports whether Karpenter has seen a rollback: no node that matches the previous revision is
// marked as drifted, except for those that were marked before the rollout. Until then, Karpenter would replace such
// a node. m compares the nodes with the previous revision.
func (r proofReader) SeenByKarpenter(ctx context.Context, s *lkeplanv1alpha1.RolloutStatus, m compare.Measured) (bool, error) {
	var claims karpv1.NodeClaimList
	if err := r.Cache.List(ctx, &claims, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("list drifted nodes: %w", err)
	}
	own := func(pool string) bool {
		return slices.ContainsFunc(m.Rolling, func(r plan.Rolling) bool { return r.Pool == pool })
	}
	return !slices.ContainsFunc(claims.Items, func(c karpv1.NodeClaim) bool {
		return isDrifted(&c) && !slices.Contains(s.Drifted, c.Name) && !m.Outdated[c.Name] &&
			c.DeletionTimestamp.IsZero() && own(c.Labels[karpv1.NodePoolLabelKey])
	}), nil
}

func isDrifted(claim *karpv1.NodeClaim) bool {
	return claim.StatusConditions().Get(karpv1.ConditionTypeDrifted).IsTrue()
}

// rolloutNode returns the state of a NodeClaim; node is nil if it has not joined.
func rolloutNode(claim *karpv1.NodeClaim, node *corev1.Node) rollout.Node {
	n := rollout.Node{Name: claim.Name}
	id := claim.Status.ProviderID
	registered, initialized := claim.StatusConditions().Get(karpv1.ConditionTypeRegistered),
		claim.StatusConditions().Get(karpv1.ConditionTypeInitialized)
	switch {
	case id == "" || nodeclaim.IsPending(id):
	case node == nil || !registered.IsTrue():
		n.State = rollout.Joining
	default:
		n.State = rollout.Unready
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && initialized.IsTrue() {
				n.State, n.Since = rollout.Ready, laterTime(c.LastTransitionTime, initialized.LastTransitionTime)
			}
		}
	}
	return n
}

func laterTime(a, b metav1.Time) time.Time {
	if a.After(b.Time) {
		return a.Time
	}
	return b.Time
}

// unhealthyPool returns the condition NodeRegistrationHealthy of a pool if it is false; else nil.
func unhealthyPool(pool *karpv1.NodePool) *status.Condition {
	if c := pool.StatusConditions().Get(karpv1.ConditionTypeNodeRegistrationHealthy); c.IsFalse() {
		return c
	}
	return nil
}

// recordHolds records for each pool what blocks the replacement of its outdated nodes: its budgets, limits and
// PodDisruptionBudgets.
func recordHolds(at map[string]*rollout.Pool, m compare.Measured) {
	for _, n := range m.Nodes {
		if p := at[n.Pool]; p != nil && m.Outdated[n.Name] && len(n.Holds) > 0 {
			p.Held++
		}
	}
	for _, r := range m.Rolling {
		p := at[r.Pool]
		if p == nil {
			continue
		}
		p.Outdated = r.Outdated
		for _, h := range r.Holds {
			if h.Reason == plan.NoRoom {
				p.Held = r.Outdated
			}
		}
		if r.Pace != nil && len(r.Pace.Closed) > 0 {
			p.Held = r.Outdated
		}
		if p.Held > 0 {
			state, held := report.Progress(r)
			p.Hold = strings.Join(append([]string{state}, held...), "; ")
		}
	}
}

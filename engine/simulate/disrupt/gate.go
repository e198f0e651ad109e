package disrupt

import (
	"context"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/state"

	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Policies returns the consolidation policy of a class by its name. If it returns an error, the nodes of the class
// are not consolidated.
type Policies func(ctx context.Context, class string) (nodeclaim.ConsolidationPolicy, error)

// LivePolicies reads policies with a client. A class that does not exist has an empty policy.
func LivePolicies(c client.Reader) Policies {
	return func(ctx context.Context, name string) (nodeclaim.ConsolidationPolicy, error) {
		var class linodev1alpha1.LinodeNodeClass
		if err := c.Get(ctx, client.ObjectKey{Name: name}, &class); err != nil {
			return nodeclaim.ConsolidationPolicy{}, client.IgnoreNotFound(err)
		}
		return nodeclaim.ConsolidationPolicyOf(&class)
	}
}

// Gate limits one of Karpenter's methods to what the policies and the buffers of a cluster allow. Methods for drifted nodes
// try those that are replaced because of their age last, the oldest first.
func Gate(method disruption.Method, cluster *state.Cluster, policies Policies, now func() time.Time) disruption.Method {
	switch method.(type) {
	case *disruption.Emptiness, *disruption.MultiNodeConsolidation, *disruption.SingleNodeConsolidation:
		return &gate{method, cluster, policies, now}
	case *disruption.Drift, *disruption.StaticDrift:
		return oldestFirst{method}
	}
	return method
}

type gate struct {
	disruption.Method
	cluster  *state.Cluster
	policies Policies
	now      func() time.Time
}

var _ disruption.NodePoolTotalsSetter = (*gate)(nil)

// SetNodePoolTotals implements disruption.NodePoolTotalsSetter.
func (g *gate) SetNodePoolTotals(totals map[string]disruption.NodePoolTotals) {
	if balanced, ok := g.Method.(disruption.NodePoolTotalsSetter); ok {
		balanced.SetNodePoolTotals(totals)
	}
}

// ShouldDisrupt implements disruption.Method.
func (g *gate) ShouldDisrupt(ctx context.Context, c *disruption.Candidate) bool {
	if !g.Method.ShouldDisrupt(ctx, c) {
		return false
	}
	p, err := g.policies(ctx, classOf(c.NodeClaim))
	return err == nil && p.Open(c.NodeClaim.CreationTimestamp.Time, g.now())
}

// ComputeCommands implements disruption.Method. If a command saves too little, or takes the capacity of buffers, it
// tries again without the nodes of the command, because Karpenter stops at the first command that it finds.
// Commands that only remove empty nodes always pass, because they move no pods.
func (g *gate) ComputeCommands(ctx context.Context, budgets map[string]int, candidates ...*disruption.Candidate,
) ([]disruption.Command, error) {
	for {
		commands, err := g.Method.ComputeCommands(ctx, budgets, candidates...)
		if _, empty := g.Method.(*disruption.Emptiness); err != nil || empty {
			return commands, err
		}
		stay := map[string]bool{}
		commands = slices.DeleteFunc(commands, func(c disruption.Command) bool {
			if c.Decision() == disruption.NoOpDecision || keepCheaper(c) && g.worth(ctx, c) && g.keepsBuffers(c) {
				return false
			}
			for _, candidate := range c.Candidates {
				stay[candidate.Name()] = true
			}
			return true
		})
		if len(stay) == 0 || len(commands) > 0 {
			return commands, nil
		}
		candidates = slices.DeleteFunc(slices.Clone(candidates), func(c *disruption.Candidate) bool { return stay[c.Name()] })
		if len(candidates) == 0 {
			return nil, nil
		}
	}
}

// keepCheaper removes from the plan types of a command those that cost as much as one of its nodes, and reports
// whether any is left. Karpenter reads the price of a node before it reads the prices of plan types (karpenter
// v1.15.0, computeConsolidation, filterOutSameInstanceType). If the price of an overlay falls in between, a node of
// the same pool and plan type seems to be cheaper than the node. In one pool, a plan type has one price.
func keepCheaper(c disruption.Command) bool {
	for _, r := range c.Replacements {
		most := math.MaxFloat64
		for _, it := range r.InstanceTypeOptions {
			if slices.ContainsFunc(c.Candidates, func(n *disruption.Candidate) bool {
				return n.Labels()[karpv1.NodePoolLabelKey] == r.NodePoolName && n.Labels()[corev1.LabelInstanceTypeStable] == it.Name
			}) {
				most = min(most, it.Offerings.Launchable().WorstLaunchPrice(r.Requirements))
			}
		}
		if _, err := r.RemoveInstanceTypeOptionsByPriceAndMinValues(r.Requirements, most); err != nil || len(r.InstanceTypeOptions) == 0 {
			return false
		}
	}
	return true
}

// worth reports whether a command saves as much as the classes of all its nodes require.
func (g *gate) worth(ctx context.Context, c disruption.Command) bool {
	saves := c.EstimatedSavings()
	for _, candidate := range c.Candidates {
		if p, err := g.policies(ctx, classOf(candidate.NodeClaim)); err != nil || !p.Worth(saves) {
			return false
		}
	}
	return true
}

// keepsBuffers reports whether after a command as many pods of CapacityBuffers have room as before. Karpenter moves the pods of a
// node to the capacity of a buffer if no node can be created for the buffer, since it treats the pods of buffers as pods that
// were pending before (karpenter v1.15.0, AllNonPendingPodsScheduled). With the node, a limit or a plan type may have room
// again: the buffer gets a new node, and Karpenter removes the next node, without end.
func (g *gate) keepsBuffers(c disruption.Command) bool {
	left := 0
	for node := range g.cluster.Nodes() {
		if !node.MarkedForDeletion() {
			left += g.cluster.BufferPodCount(node.ProviderID())
		}
	}
	count := func(pods []*corev1.Pod) {
		for _, pod := range pods {
			if provisioning.IsVirtualPod(pod) {
				left--
			}
		}
	}
	for _, node := range c.Results.ExistingNodes {
		count(node.Pods)
	}
	for _, node := range c.Results.NewNodeClaims {
		count(node.Pods)
	}
	return left <= 0
}

func classOf(nc *karpv1.NodeClaim) string {
	if nc.Spec.NodeClassRef == nil {
		return ""
	}
	return nc.Spec.NodeClassRef.Name
}

// Package paidhour delays consolidation to the end of the hours that Linode bills, and keeps moves that save little from
// happening. Linode bills each started hour of a machine: a node that is removed in the tenth minute of an hour costs as
// much as one that is removed in the last, which can take new pods until then.
//
// It wraps Karpenter's own methods, and decides nothing about which nodes are removed. Drift, expiry and repair are not
// delayed.
package paidhour

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"

	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Policy is what a class asks for. The zero Policy delays and prevents nothing.
type Policy struct {
	Last   time.Duration // of each paid hour: the time in which nodes are consolidated; 0 means any time
	Saving catalog.Money // a month: the least for which pods are moved
}

// PolicyOf reads the policy of a class. A saving that cannot be read, which the API server refuses, is an error.
func PolicyOf(class *linodev1alpha1.LinodeNodeClass) (p Policy, err error) {
	c := class.Spec.Consolidation
	if c == nil {
		return p, nil
	}
	if c.BeforePaidHourEnds != nil {
		p.Last = c.BeforePaidHourEnds.Duration
	}
	if c.MinimumMonthlySaving != "" {
		if p.Saving, err = catalog.ParseMoney(c.MinimumMonthlySaving); err != nil {
			return p, fmt.Errorf("spec.consolidation.minimumMonthlySaving of LinodeNodeClass %s: %w", class.Name, err)
		}
	}
	return p, nil
}

// Window is the time in which a machine that was created at a time may be consolidated: the one that contains now, or
// else the next. It ends with a paid hour.
//
// The time of creation is that of the NodeClaim. Linode bills from when it makes the machine, which is later, so that
// the paid hour ends later than the window.
func (p Policy) Window(created, now time.Time) (from, until time.Time) {
	const hour = time.Hour
	if p.Last <= 0 || p.Last >= hour {
		return now, now.Add(hour)
	}
	passed := max(0, now.Sub(created)) / hour // hours that are over
	until = created.Add((passed + 1) * hour)
	return until.Add(-p.Last), until
}

// Open reports whether a machine may be consolidated now.
func (p Policy) Open(created, now time.Time) bool {
	from, _ := p.Window(created, now)
	return !now.Before(from)
}

// Worth reports whether a saving, in dollars an hour, is large enough to move pods for it.
func (p Policy) Worth(hourly float64) bool {
	return hourly*catalog.HoursPerMonth+1e-6 >= p.Saving.Float64()
}

// Policies returns the policy of a class by its name. An error delays consolidation of its nodes.
type Policies func(ctx context.Context, class string) (Policy, error)

// Live reads policies from the API server, or the cache of a client. A class that is gone has none.
func Live(c client.Reader) Policies {
	return func(ctx context.Context, name string) (Policy, error) {
		var class linodev1alpha1.LinodeNodeClass
		if err := c.Get(ctx, client.ObjectKey{Name: name}, &class); err != nil {
			return Policy{}, client.IgnoreNotFound(err)
		}
		return PolicyOf(&class)
	}
}

// Gate returns one of Karpenter's methods as policies let it act. Those that do not consolidate are returned as they are.
func Gate(method disruption.Method, policies Policies, now func() time.Time) disruption.Method {
	switch method.(type) {
	case *disruption.Emptiness, *disruption.MultiNodeConsolidation, *disruption.SingleNodeConsolidation:
		return &gate{method, policies, now}
	}
	return method
}

type gate struct {
	disruption.Method
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

// ComputeCommands implements disruption.Method. It leaves out the nodes of a command that saves too little, and tries
// again: Karpenter stops at the first command that it finds. Empty nodes move no pods, and any saving is worth it.
func (g *gate) ComputeCommands(ctx context.Context, budgets map[string]int, candidates ...*disruption.Candidate,
) ([]disruption.Command, error) {
	for {
		commands, err := g.Method.ComputeCommands(ctx, budgets, candidates...)
		if _, empty := g.Method.(*disruption.Emptiness); err != nil || empty {
			return commands, err
		}
		small := map[string]bool{}
		commands = slices.DeleteFunc(commands, func(c disruption.Command) bool {
			if c.Decision() == disruption.NoOpDecision || g.worth(ctx, c) {
				return false
			}
			for _, candidate := range c.Candidates {
				small[candidate.Name()] = true
			}
			return true
		})
		if len(small) == 0 || len(commands) > 0 {
			return commands, nil
		}
		candidates = slices.DeleteFunc(slices.Clone(candidates), func(c *disruption.Candidate) bool { return small[c.Name()] })
		if len(candidates) == 0 {
			return nil, nil
		}
	}
}

// worth reports whether a command saves what the classes of all its nodes ask for.
func (g *gate) worth(ctx context.Context, c disruption.Command) bool {
	saves := c.EstimatedSavings()
	for _, candidate := range c.Candidates {
		if p, err := g.policies(ctx, classOf(candidate.NodeClaim)); err != nil || !p.Worth(saves) {
			return false
		}
	}
	return true
}

func classOf(nc *karpv1.NodeClaim) string {
	if nc.Spec.NodeClassRef == nil {
		return ""
	}
	return nc.Spec.NodeClassRef.Name
}

package nodeclaim

import (
	"fmt"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// ConsolidationPolicy delays consolidation to the end of the hours that Linode bills, and prevents moves that save
// little, as a class asks for. Linode bills each started hour of a machine: a node that is removed in the tenth minute
// of an hour costs as much as one that is removed in the last, which can take new pods until then.
//
// The zero ConsolidationPolicy delays and prevents nothing. engine/simulate/disrupt wraps Karpenter's methods with it.
type ConsolidationPolicy struct {
	Last   time.Duration // of each paid hour: the time in which nodes are consolidated; 0 means any time
	Saving catalog.Money // per month: the smallest saving for which pods are moved
}

// ConsolidationPolicyOf reads the policy of a class. An invalid saving, which the API server rejects, is an error.
func ConsolidationPolicyOf(class *linodev1alpha1.LinodeNodeClass) (p ConsolidationPolicy, err error) {
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

// Window returns the time in which a machine that was created at a time may be consolidated: the one that contains
// now, or else the next. It ends with a paid hour.
//
// The time of creation is that of the NodeClaim. Linode bills from when it makes the machine, which is later, so that
// the paid hour ends later than the window.
func (p ConsolidationPolicy) Window(created, now time.Time) (from, until time.Time) {
	const hour = time.Hour
	if p.Last <= 0 || p.Last >= hour {
		return now, now.Add(hour)
	}
	passed := max(0, now.Sub(created)) / hour // hours that are over
	until = created.Add((passed + 1) * hour)
	return until.Add(-p.Last), until
}

// Open reports whether a machine may be consolidated now.
func (p ConsolidationPolicy) Open(created, now time.Time) bool {
	from, _ := p.Window(created, now)
	return !now.Before(from)
}

// Worth reports whether a saving, in dollars an hour, is large enough to move pods for it.
func (p ConsolidationPolicy) Worth(hourly float64) bool {
	return hourly*catalog.HoursPerMonth+1e-6 >= p.Saving.Float64()
}

package lke

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

func newMetrics() *nodeclaim.Metrics {
	return nodeclaim.NewMetrics("lkeplan_lke_listed_timestamp_seconds",
		"Time of the last successful list of LKE pools; the machine gauges are from that "+
			"time.", nodeclaim.Reasons{Making: refusals, Deleting: undeleted})
}

// Metrics are what the Syncer counts, to be registered.
func (f *Syncer) Metrics() []prometheus.Collector { return f.metrics.Collectors() }

// timedOut is the reason where a slot stayed without a machine.
const timedOut = "timeout"

// refusals are the reasons for which claims do not get what they wait for.
var refusals = []string{
	string(api.ClassNoCapacity), string(api.ClassAccountLimit), string(api.ClassPlanClosed),
	string(api.ClassValidation),
	string(api.ClassAuth), string(api.ClassBusy), string(api.ClassUnknown), timedOut,
}

// undeleted are the reasons for which machines that are to go do not.
var undeleted = []string{
	string(api.ClassLocked), string(api.ClassAuth), string(api.ClassValidation), string(api.ClassBusy), string(api.ClassUnknown),
}

// take counts what there is of each plan type. Pools of the cluster that NodeClaims are not
// served from are not counted.
func take(view capacity.View) nodeclaim.Rows {
	rows := nodeclaim.Rows{}
	owned := map[int]bool{}
	for _, c := range view.Claims {
		if c.Instance != 0 {
			owned[c.Instance] = true
		} else if !c.Leaving {
			rows.Of(c.Group.Plan).Wait(c.Created)
		}
	}
	for _, p := range view.Pools {
		if p.Group == "" && !p.Adopted {
			continue
		}
		row := rows.Of(p.Plan)
		row.Coming += max(0, p.Count-len(p.Slots)) // Enterprise lists them later
		for _, s := range p.Slots {
			switch {
			case s.Instance == 0:
				row.Coming++
			case owned[s.Instance]:
				row.Bound++
			default:
				row.Unowned++
			}
		}
	}
	return rows
}

// show has the gauges show a view.
func (f *Syncer) show(view capacity.View) {
	f.metrics.Show(take(view), f.cfg.Types.Price)
	f.metrics.Listed(view.Asked.Truncate(time.Second))
}

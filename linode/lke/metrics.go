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

// Metrics returns the metrics of the Syncer, to register them.
func (f *Syncer) Metrics() []prometheus.Collector { return f.metrics.Collectors() }

// timedOut is the reason for slots that stayed without a machine.
const timedOut = "timeout"

// refusals are the reasons why claims do not get a machine.
var refusals = []string{
	string(api.ClassNoCapacity), string(api.ClassAccountLimit), string(api.ClassPlanClosed),
	string(api.ClassValidation),
	string(api.ClassAuth), string(api.ClassBusy), string(api.ClassUnknown), timedOut,
}

// undeleted are the reasons why machines are not deleted.
var undeleted = []string{
	string(api.ClassLocked), string(api.ClassAuth), string(api.ClassValidation), string(api.ClassBusy), string(api.ClassUnknown),
}

// countNodes counts the nodes of each plan type. It ignores pools of the cluster that do not serve NodeClaims.
func countNodes(view capacity.View) nodeclaim.Rows {
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
		row.Coming += max(0, p.Count-len(p.Slots)) // on Enterprise they are listed later
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

// show sets the gauges to the values of a view.
func (f *Syncer) show(view capacity.View) {
	f.metrics.Show(countNodes(view), f.cfg.Types.Price)
	f.metrics.Listed(view.Asked.Truncate(time.Second))
}

package instance

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/instance/decide"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

func newMetrics() *nodeclaim.Metrics {
	return nodeclaim.NewMetrics("lkeplan_linodes_listed_timestamp_seconds",
		"In instance mode: time of the last successful list of the cluster's "+
			"Linodes.", nodeclaim.Reasons{Making: refusals, Deleting: undeleted})
}

// Metrics returns the metrics of the Machines, to register them.
func (i *Machines) Metrics() []prometheus.Collector { return append(i.metrics.Collectors(), i.joins) }

func newJoinFailures() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "lkeplan_join_failures_total",
		Help: "In instance mode: Linodes that did not join, by reason: reported (a Linode reported that it cannot join), " +
			"silent (neither joined nor reported within three minutes) or given-up (not joined within 15 minutes, so its " +
			"NodeClaim ends).",
	}, []string{"plan", "reason"})
}

// refusals are the reasons why claims do not get a machine.
var refusals = []string{
	string(api.ClassNoCapacity), string(api.ClassAccountLimit), string(api.ClassPlanClosed),
	string(api.ClassValidation),
	string(api.ClassAuth), string(api.ClassBusy), string(api.ClassUnknown), string(api.ClassLabelTaken),
}

// changedMarks is the reason if both the label and the tag of a Linode were changed.
const changedMarks = "changed"

// undeleted are the reasons why machines are not deleted.
var undeleted = []string{
	string(api.ClassLocked), string(api.ClassAuth), string(api.ClassValidation), string(api.ClassBusy), string(api.ClassUnknown),
	changedMarks,
}

// countMachines counts the machines of each plan type in a cluster. A Linode belongs to the claim from which its
// label is made, even before it is stored on the claim.
func countMachines(cluster string, claims []karpv1.NodeClaim, all []api.Instance) nodeclaim.Rows {
	rows := nodeclaim.Rows{}
	labels, owned := map[string]bool{}, map[int]bool{}
	for _, one := range all {
		labels[one.Label] = true
	}
	mine := map[string]bool{}
	for k := range claims {
		claim, ok := claimFrom(&claims[k])
		label := decide.Label(cluster, claim.UID)
		switch {
		case !ok:
			continue
		case claim.Machine != 0:
			owned[claim.Machine] = true
		case !claim.Leaving:
			row := rows.Of(nodeclaim.PlanOf(&claims[k]))
			row.Wait(claim.Created)
			if !labels[label] {
				row.Coming++
			}
		}
		mine[label] = true
	}
	for _, one := range all {
		if row := rows.Of(one.Type); owned[one.ID] || mine[one.Label] {
			row.Bound++
		} else {
			row.Unowned++
		}
	}
	return rows
}

// show sets the gauges from the claims, and the Linodes that were listed last.
func (i *Machines) show(claims []karpv1.NodeClaim) {
	rows := countMachines(i.cfg.Identity.Name, claims, i.known())
	i.metrics.Show(rows, i.cfg.Types.Price)
	for plan := range rows {
		for _, reason := range []string{joinReported, joinSilent, joinGivenUp} { // counters start from zero, because otherwise the first failure would not be an increase
			i.joins.WithLabelValues(plan, reason)
		}
	}
}

// count counts a claim that did not get a machine. It does not count orders that lack something in the cluster,
// because no call was sent for them.
func (i *Machines) count(ctx context.Context, uid string, err error) {
	if _, unasked := errors.AsType[unspecifiedError](err); unasked {
		return
	}
	if nc, gone := nodeclaim.ByUID(ctx, i.cfg.Client, uid); gone == nil {
		i.metrics.Refused(nodeclaim.PlanOf(nc), string(api.ClassOf(err)))
	}
}

// unspecifiedError is the error if the spec of a machine could not be read from the cluster.
type unspecifiedError struct{ error }

func (e unspecifiedError) Unwrap() error { return e.error }

// bound counts a claim that has got its machine.
func (i *Machines) bound(nc *karpv1.NodeClaim) {
	i.metrics.Bound(nodeclaim.PlanOf(nc), time.Since(nc.CreationTimestamp.Time))
}

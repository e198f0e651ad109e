package instance

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/awslabs/operatorpkg/status"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/instance/token"
	"github.com/lkeplan/lkeplan/linode/maintenance"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Events on a NodeClaim report why its machine has not joined: the machine's own report or, without one,
// where to look. Reports are read from the API server, so a restart loses none. Written events are
// remembered, so a machine that reports another text each second causes few events.

const (
	joinsWithin = 3 * time.Minute  // a machine boots in two
	givenUpIn   = 15 * time.Minute // by Karpenter (v1.15.0, registrationTimeout in its nodeclaim/lifecycle/liveness.go)

	clocksDiffer = 30 * time.Second // the API server's and Karpenter's

	anotherReport = time.Minute     // until another report is an event
	sameReport    = 5 * time.Minute // until the same report is an event again, and for how long a report is new
)

// The reasons of failed joins, as values of the metric's label.
const (
	joinReported = "reported"
	joinSilent   = "silent"
	joinGivenUp  = "given-up"
)

// unjoined is what was reported about a machine that has not joined.
type unjoined struct {
	report             string // the last report
	reportAt, silentAt time.Time
	silent             bool // the metric has counted it as silent
	ended              bool

	heard   types.UID // the last report that was read
	heardAt time.Time // by this process's clock, because the API server's may differ
}

// Reported wakes the events about a claim whose machine has reported why it cannot join.
func (i *Machines) Reported(ctx context.Context, nc *karpv1.NodeClaim) {
	i.joins.WithLabelValues(nodeclaim.PlanOf(nc), joinReported).Inc()
	i.explainUnjoined(ctx, []karpv1.NodeClaim{*nc})
}

// watchJoins reports on each claim why its machine has not joined in time, and forgets other claims.
func (i *Machines) watchJoins(ctx context.Context, all []karpv1.NodeClaim) {
	there := map[string]bool{}
	for k := range all {
		there[string(all[k].UID)] = true
	}
	i.mu.Lock()
	maps.DeleteFunc(i.unjoined, func(uid string, _ unjoined) bool { return !there[uid] })
	i.mu.Unlock()
	i.explainUnjoined(ctx, all)
}

func (i *Machines) explainUnjoined(ctx context.Context, claims []karpv1.NodeClaim) {
	var requests *certificatesv1.CertificateSigningRequestList
	for k := range claims {
		nc := &claims[k]
		waits := nc.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeRegistered)
		if !nodeclaim.Managed(nc) || nodeclaim.InstanceOf(nc.Status.ProviderID) == 0 || waits == nil || !waits.IsUnknown() {
			continue
		}
		if requests == nil {
			requests = &certificatesv1.CertificateSigningRequestList{}
			if err := i.cfg.Client.List(ctx, requests, client.UnsafeDisableDeepCopy); err != nil {
				i.cfg.Log.Warn("what machines report that cannot join is not known", "error", err)
				return // the next check is soon
			}
		}
		i.sayUnjoined(nc, waits.LastTransitionTime.Time, token.LastReport(requests.Items, string(nc.UID)))
	}
}

// sayUnjoined reports why the machine of one claim, which has waited since a time, has not joined.
func (i *Machines) sayUnjoined(nc *karpv1.NodeClaim, since time.Time, report *token.Report) {
	now, uid, id := time.Now(), string(nc.UID), nodeclaim.InstanceOf(nc.Status.ProviderID)
	count := func(reason string) { i.joins.WithLabelValues(nodeclaim.PlanOf(nc), reason).Inc() }
	i.mu.Lock()
	defer i.mu.Unlock()
	said := i.unjoined[uid]
	defer func() { i.unjoined[uid] = said }()
	if report != nil && (said.heardAt.IsZero() || report.Request.UID != said.heard) {
		said.heard, said.heardAt = report.Request.UID, now
	}
	age := now.Sub(said.heardAt)
	switch {
	case !nc.DeletionTimestamp.IsZero():
		if said.ended || nc.DeletionTimestamp.Sub(since) < givenUpIn-clocksDiffer {
			return
		}
		said.ended = true
		count(joinGivenUp)
		i.cfg.Events.Eventf(nc, nil, corev1.EventTypeWarning, "MachineNotJoined", "Terminate", "%s", nodeclaim.Shorten(fmt.Sprintf(
			"Linode %d has not joined the cluster within %d minutes and is deleted: %s", id, givenUpIn/time.Minute,
			lastWords(report, age))))
	case report != nil && age < sameReport:
		again := anotherReport
		if report.Text == said.report {
			again = sameReport
		}
		if now.Sub(said.reportAt) < again {
			return
		}
		said.report, said.reportAt = report.Text, now
		// The recorder writes only the first of several events with the same reason about the same objects in some
		// minutes, and counts the others. The related object is the report, so that each report is written.
		i.cfg.Events.Eventf(nc, report.Request, corev1.EventTypeWarning, "MachineCannotJoin", "Launch", "%s", nodeclaim.Shorten(
			fmt.Sprintf("Linode %d cannot join: %s", id, nodeclaim.Quoted(report.Text, token.LargestReport))))
	case now.Sub(since) >= joinsWithin && now.Sub(said.silentAt) >= sameReport:
		passed, node := now.Sub(since)/time.Minute, i.cfg.Identity.Node(uid)
		each := &corev1.ObjectReference{Kind: "Linode", Name: node, FieldPath: fmt.Sprintf("%dm", passed)} // otherwise only the first would be written
		if window := maintenance.Of(nc); window.Explains(now) {
			said.silentAt = now
			i.cfg.Events.Eventf(nc, each, corev1.EventTypeNormal, "MachineNotJoined", "Launch", "%s", nodeclaim.Shorten(fmt.Sprintf(
				"Linode %d has not joined the cluster within %d minutes; Linode maintains its host (%s), and lkeplan waits "+
					"for the machine until %s", id, passed, window, window.Until().UTC().Format(time.RFC3339))))
			return
		}
		if !said.silent && report == nil && said.heard == "" {
			count(joinSilent)
		}
		said.silent, said.silentAt = true, now
		why := lastWords(report, age)
		if report == nil && joinOf(nc) != linodev1alpha1.BootstrapCustom { // a template may have no reports
			why += ": perhaps it does not boot, does not reach or trust the API server, or has a wrong clock"
		}
		i.cfg.Events.Eventf(nc, each, corev1.EventTypeWarning, "MachineNotJoined", "Launch", "%s", nodeclaim.Shorten(fmt.Sprintf(
			"Linode %d has not joined the cluster within %d minutes and is deleted after %d; its console: "+
				"ssh -t USER@lish-%s.linode.com %s; %s", id, passed, givenUpIn/time.Minute, i.cfg.Types.Region(), node, why)))
	}
}

// joinOf returns how the machine of a claim joins; "" if its order cannot be read.
func joinOf(nc *karpv1.NodeClaim) string {
	o, err := DecodeOrder(nc.Annotations[nodeclaim.AnnotationOrder])
	if err != nil {
		return ""
	}
	return o.Bootstrap.Kind
}

// lastWords returns the last report of a machine, short enough for an event.
func lastWords(r *token.Report, age time.Duration) string {
	if r == nil {
		return "the Linode has not reported why"
	}
	return fmt.Sprintf("its last report, %s ago: %s", age.Round(time.Second), nodeclaim.Quoted(r.Text, 500))
}

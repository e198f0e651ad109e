package sim

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Maintenance is work on the host of a Linode, as GET /account/maintenance lists it.
type Maintenance struct {
	Entity      EventEntity `json:"entity"`
	Type        string      `json:"type"`        // reboot, power_off_on, cold_migration, live_migration, ...
	Status      string      `json:"status"`      // pending, scheduled, started, in_progress, completed, canceled
	Description string      `json:"description"` // scheduled or emergency
	Source      string      `json:"source"`
	Reason      string      `json:"reason"`
	Policy      string      `json:"maintenance_policy_set"`
	When        string      `json:"when"`
	NotBefore   *string     `json:"not_before"`
	Start       *string     `json:"start_time"`
	Complete    *string     `json:"complete_time"`
}

// Work is maintenance of the host of a Linode, with its effects on the Linode.
type Work struct {
	Linode    int       `json:"linode"`
	Type      string    `json:"type"`
	Start     time.Time `json:"start"`
	Emergency bool      `json:"emergency"`

	// Off is how long the work lasts, in JSON a text such as "3m". The machine is off meanwhile, except in a live
	// migration. If it is 0, the work does not start, and the machine does not change.
	Off metav1.Duration `json:"off"`
	// Vacant makes an LKE pool show the slot of the machine without an instance during the work.
	Vacant bool `json:"vacant"`
	// Stays leaves the machine off after the work.
	Stays bool `json:"stays"`
}

// Announce announces maintenance of the host of an instance or a Linode outside of pools. It returns false if none
// has the id. Work whose start has passed starts immediately.
func (s *Simulator) Announce(w Work) (known bool) {
	s.update(func(st *state, now time.Time) {
		i := st.instances[w.Linode]
		known = i != nil
		if !known {
			return
		}
		description := "scheduled"
		if w.Emergency {
			description = "emergency"
		}
		when := formatTime(w.Start)
		st.maintenance = append(st.maintenance, Maintenance{
			Entity: EventEntity{ID: i.ID, Label: i.Label, Type: "linode"}, Type: w.Type, Status: "scheduled",
			Description: description, Source: "platform", Policy: "linode/power_off_on", When: when, NotBefore: &when,
		})
		if n := len(st.maintenance) - 1; w.Off.Duration > 0 {
			at := w.Start
			if at.Before(now) {
				at = now
			}
			st.agenda.plan(at, func(at time.Time) { st.startWork(n, w, at) })
		}
	})
	s.changed()
	return known
}

// startWork starts the nth maintenance, unless it was canceled.
func (st *state) startWork(n int, w Work, at time.Time) {
	m, i := &st.maintenance[n], st.instances[w.Linode]
	if m.Status != "scheduled" || i == nil {
		return
	}
	m.Status, m.Start = "started", new(formatTime(at))
	i.Away, i.Down, i.Vacant = statusDuring(w.Type), w.Type != "live_migration", w.Vacant
	st.agenda.plan(at.Add(w.Off.Duration), func(at time.Time) { st.endWork(n, w, at) })
}

// endWork ends the maintenance. If its Node is gone, a kubelet that starts again registers it.
func (st *state) endWork(n int, w Work, at time.Time) {
	m := &st.maintenance[n]
	m.Status, m.Complete = "completed", new(formatTime(at))
	i := st.instances[w.Linode]
	switch {
	case i == nil:
	case w.Stays:
		i.Away = "offline"
	default:
		if i.Down {
			i.Restarts++
			i.registered = time.Time{}
		}
		i.Away, i.Down, i.Vacant = "", false, false
	}
}

// statusDuring returns the status of a Linode while its host is under maintenance.
//
// Unverified: the status during each type of maintenance, and that a pool shows a slot as not ready meanwhile.
func statusDuring(work string) string {
	switch work {
	case "reboot":
		return "rebooting"
	case "power_off_on":
		return "offline"
	}
	return "migrating"
}

// Unannounce sets the maintenance of a Linode to completed or canceled.
func (s *Simulator) Unannounce(instance int, status string) (known bool) {
	s.update(func(st *state, _ time.Time) {
		for n := range st.maintenance {
			if m := &st.maintenance[n]; m.Entity.ID == instance {
				m.Status, known = status, true
			}
		}
	})
	return known
}

// listMaintenance answers GET /account/maintenance.
func (st *state) listMaintenance(q *request) (any, error) {
	return listPage(q, slices.Clone(st.maintenance), "status", "type", "entity.id", "entity.type")
}

// controlAnnounce announces maintenance of a host.
func (s *Simulator) controlAnnounce(w http.ResponseWriter, r *http.Request) {
	var work Work
	if readBody(w, r, &work) {
		answerDone(w, r, s.Announce(work))
	}
}

// hosts stops the kubelets of machines that are off because of maintenance: it takes the leases of their Nodes, and
// does not renew them. KWOK simulates a Node and its pods only while it holds the lease of the Node.
type hosts struct {
	sim     *Simulator
	client  kubernetes.Interface
	stopped map[string]bool // by Node
}

// off is the holder of the lease of a Node whose machine is off. The lease is longer than any work.
const (
	off     = "off"
	offLong = 365 * 24 * 60 * 60 // seconds
)

// pass stops and starts kubelets, and returns when the next one is due.
func (h *hosts) pass(ctx context.Context) (next time.Time, err error) {
	down := map[string]bool{}
	h.sim.update(func(st *state, _ time.Time) {
		next = st.agenda.next()
		for _, i := range st.instances {
			if i.Down {
				down[cmp.Or(i.Join.Node, i.Label)] = true
			}
		}
	})
	var errs []error
	for node := range down {
		if h.stopped[node] {
			continue
		}
		err := h.hold(ctx, node, func(l *coordinationv1.LeaseSpec) {
			l.HolderIdentity, l.LeaseDurationSeconds = new(off), new(int32(offLong))
		})
		if err == nil {
			h.stopped[node] = true
		}
		errs = append(errs, err)
	}
	for node := range h.stopped {
		if down[node] {
			continue
		}
		err := h.hold(ctx, node, func(l *coordinationv1.LeaseSpec) { l.HolderIdentity = nil })
		if err == nil {
			delete(h.stopped, node)
		}
		errs = append(errs, err)
	}
	return next, errors.Join(errs...)
}

// hold changes the lease of a Node, if it has one.
func (h *hosts) hold(ctx context.Context, node string, change func(*coordinationv1.LeaseSpec)) error {
	leases := h.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease, err := leases.Get(ctx, node, metav1.GetOptions{})
	if err == nil {
		change(&lease.Spec)
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

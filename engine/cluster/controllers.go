package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
)

// Controller is a process of lkeplan, as its Lease describes it.
type Controller struct {
	Namespace, Lease string
	Holder           string        // "" if no process holds the Lease
	Silent           time.Duration // time since the last renewal
}

// silence is the time without a renewal after which a process is considered dead: Leases last for 15 s.
const silence = 20 * time.Second

// Works reports whether the process is alive. The answer can be wrong if the clocks differ by more than a few
// seconds.
func (c Controller) Works() bool { return c.Holder != "" && c.Silent < silence }

// MakesNodes reports whether it is the process that makes and deletes nodes.
func (c Controller) MakesNodes() bool { return c.Lease == makesNodes }

// makesNodes is the name of the Lease of the process that creates nodes.
const makesNodes = "lkeplan-controller"

// String describes the process and its state.
func (c Controller) String() string {
	name := c.Namespace + "/" + c.Lease
	switch {
	case c.Holder == "":
		return name + " is stopped"
	case !c.Works():
		return fmt.Sprintf("%s has not reported for %s", name, c.Silent.Round(time.Second))
	}
	return name + " works"
}

// Controllers returns the processes that have a Lease, including those that have stopped.
func Controllers(ctx context.Context, from Lister, now time.Time) ([]Controller, error) {
	leases, err := List[coordinationv1.Lease](ctx, from, "coordination.k8s.io/v1", "Lease")
	if err != nil {
		return nil, err
	}
	var found []Controller
	for _, lease := range leases {
		if lease.Name != makesNodes && lease.Name != "lkeplan-gitops" && !strings.HasPrefix(lease.Name, "lkeplan-gitops-") {
			continue
		}
		c := Controller{Namespace: lease.Namespace, Lease: lease.Name, Holder: ptr.Deref(lease.Spec.HolderIdentity, "")}
		if lease.Spec.RenewTime != nil {
			c.Silent = max(0, now.Sub(lease.Spec.RenewTime.Time))
		}
		found = append(found, c)
	}
	slices.SortFunc(found, func(a, b Controller) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Lease, b.Lease))
	})
	return found, nil
}

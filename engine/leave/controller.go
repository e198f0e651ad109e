package leave

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Controller is a process of lkeplan as its Lease shows it.
type Controller struct {
	Namespace, Lease string
	Holder           string        // "" where none works, and none stands by
	Silent           time.Duration // since it was last heard of
}

// patience is how long a process that works may say nothing: Leases last for 15 s.
const patience = 20 * time.Second

// Works reports whether the process is alive. Clocks that differ by more than some seconds
// make it wrong.
func (c Controller) Works() bool { return c.Holder != "" && c.Silent < patience }

// MakesNodes reports whether it is the process that makes and deletes nodes.
func (c Controller) MakesNodes() bool { return c.Lease == "lkeplan-controller" }

// String says what it is and how it is.
func (c Controller) String() string {
	name := c.Namespace + "/" + c.Lease
	switch {
	case c.Holder == "":
		return name + " is stopped"
	case !c.Works():
		return fmt.Sprintf("%s has said nothing for %s", name, c.Silent.Round(time.Second))
	}
	return name + " works"
}

// Controllers returns the processes that have, or had, a Lease.
func Controllers(ctx context.Context, from Cluster, now time.Time) ([]Controller, error) {
	leases, err := from.List(ctx, "coordination.k8s.io/v1", "Lease")
	if err != nil {
		return nil, err
	}
	var found []Controller
	for _, lease := range leases {
		name := manifest.Name(lease)
		if name != "lkeplan-controller" && name != "lkeplan-gitops" && !strings.HasPrefix(name, "lkeplan-gitops-") {
			continue
		}
		c := Controller{
			Namespace: manifest.Namespace(lease), Lease: name, Holder: manifest.Text(lease, "spec", "holderIdentity"),
		}
		if renewed, err := time.Parse(time.RFC3339Nano, manifest.Text(lease, "spec", "renewTime")); err == nil {
			c.Silent = max(0, now.Sub(renewed))
		}
		found = append(found, c)
	}
	slices.SortFunc(found, func(a, b Controller) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Lease, b.Lease))
	})
	return found, nil
}

package leave

import (
	"cmp"
	"context"
	"errors"
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

// Lister lists objects of a cluster, in all namespaces.
type Lister interface {
	List(ctx context.Context, apiVersion, kind string) ([]map[string]any, error)
}

// Controllers returns the processes that have, or had, a Lease.
func Controllers(ctx context.Context, from Lister, now time.Time) ([]Controller, error) {
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

// ErrNoLease tells that nothing shows whether a controller runs.
var ErrNoLease = errors.New("no controller has, or had, a Lease")

// Stopped returns an error that says what to stop, where a process of lkeplan runs, or is
// about to: it would put back what Keep takes off. Only whoever started a controller that
// elects no leader can say that it has ended; it is ErrNoLease where nothing else does.
func Stopped(ctx context.Context, in Cluster, running []Controller) error {
	for _, c := range running {
		if c.Works() {
			return runs(c.String(), c.Namespace)
		}
	}
	deployments, err := in.List(ctx, "apps/v1", "Deployment")
	if err != nil {
		return err
	}
	for _, d := range deployments {
		if replicas := wanted(d); manifest.Label(d, "app.kubernetes.io/part-of") == "lkeplan" && replicas > 0 {
			namespace := manifest.Namespace(d)
			return runs(fmt.Sprintf("is not stopped (Deployment %s/%s, replicas: %d)", namespace, manifest.Name(d), replicas),
				namespace)
		}
	}
	if !slices.ContainsFunc(running, Controller.MakesNodes) {
		return ErrNoLease
	}
	return nil
}

func runs(what, namespace string) error {
	return fmt.Errorf("the controller %s, and would put back what is taken off; stop it first: kubectl -n %s scale "+
		"deployment --replicas=0 --selector=app.kubernetes.io/part-of=lkeplan", what, namespace)
}

// wanted is how many pods a Deployment is to have.
func wanted(deployment map[string]any) int64 {
	value, _ := manifest.Lookup(deployment, "spec", "replicas")
	switch n := value.(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 1 // the API server's default
}

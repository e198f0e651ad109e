// Package status says what is happening in a cluster: how the nodes of each pool do and
// what holds them, what is left of limits, what each NodePlan waits for, and why pods
// wait for a node.
//
// It is pure: lists, prices and a time go in, a value and text come out. It asks no
// cluster, and the controller may be down.
package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/top"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
)

// Given is what is known besides the lists.
type Given struct {
	Place   string // where the cluster is, for people
	Catalog *catalog.Catalog
	Now     time.Time
	Pool    string // the only one to tell of; "" for all
	Region  string // of the cluster; "" for what its nodes tell
}

// Status is what is happening. What is not known, as its kind cannot be listed, is nil.
type Status struct {
	Place     string         `json:"cluster"`
	Nodes     *int           `json:"nodes"`              // machines, those included that are still to come
	Coming    *int           `json:"coming"`             // of these
	Cost      *catalog.Price `json:"cost"`               // without the unpriced
	Unpriced  int            `json:"unpriced,omitempty"` // nodes whose price is not known
	Pools     []Pool         `json:"pools"`
	Classes   []Class        `json:"node_classes"` // that something is to be said of
	Limits    []Limit        `json:"capacity_limits"`
	Waiting   []Workload     `json:"pods_waiting"`
	NodePlans []NodePlan     `json:"nodeplans"`
	Notes     []string       `json:"notes"`      // what could not be read, or worked out
	NotListed []string       `json:"not_listed"` // kinds that could not be listed: what is of them is not known
	now       time.Time
}

// Remark is something that somebody may want to know.
type Remark struct {
	What  What       `json:"what"`
	Text  string     `json:"text"`
	Since *time.Time `json:"since,omitempty"`
}

// What is a class of remarks.
type What string

// What there is to tell.
const (
	NotReady  What = "not-ready" // nothing is made with it
	BadClass  What = "class"     // nothing is made with it, for its LinodeNodeClass is not ready
	Linode    What = "linode"    // the Linode API does not answer, or refuses the token
	Stock     What = "stock"     // Linode has no machines of a plan type
	Full      What = "limit"     // a limit has no room
	Refused   What = "refused"   // no machine is made
	Rolling   What = "rolling"   // nodes are to be replaced, or have not joined
	Loop      What = "loop"      // nodes were replaced again and again, and are kept now
	Held      What = "held"      // something keeps nodes from being replaced
	Condemned What = "condemned" // the pool gives up its nodes
	Drift     What = "drift"     // others have set a field that lkeplan does not set
	Version   What = "version"   // of Kubernetes: nodes and control plane differ
	Unknown   What = "unknown"   // what it follows from cannot be listed
)

// Of says what is happening in a cluster.
func Of(l cluster.Snapshot, g Given) (Status, error) {
	l = l.Sorted()
	s := Status{
		Place: g.Place, Notes: append([]string{}, l.Notes...), NotListed: append([]string{}, l.Unlisted...), now: g.Now,
	}
	screen := top.Of(cluster.Snapshot{Nodes: l.Nodes, Claims: l.Claims, Pools: l.Pools}, g.Catalog.Price)
	if l.Unread(cluster.KindNodes, cluster.KindClaims) == "" {
		coming := int(screen.Total.Coming.N)
		s.Nodes, s.Coming, s.Cost = &screen.Total.Count, &coming, &screen.Total.Cost
		s.Unpriced = screen.Total.Unpriced
	}
	w := &world{Snapshot: l, Given: g, byUID: l.EventsByObject()}
	w.types = sync.OnceValue(func() []*cloudprovider.InstanceType {
		region, tier := l.Region()
		return instancetype.New(g.Catalog, cmp.Or(g.Region, region), tier).List()
	})
	rolls, err := w.rolls()
	if err != nil {
		return s, err
	}
	s.Pools = w.pools(screen, rolls)
	s.Classes = listed(l, cluster.KindClasses, func() []Class { return w.classes(rolls) })
	s.Limits = listed(l, cluster.KindLimits, w.limits)
	s.NodePlans = listed(l, cluster.KindPlans, w.nodePlans)
	s.Waiting = listed(l, cluster.KindPods, func() []Workload { return w.waiting(s) })
	s.Notes = append(s.Notes, w.doubts()...)
	if g.Pool != "" {
		return s.only(g.Pool)
	}
	return s, nil
}

// world is what is looked at.
type world struct {
	cluster.Snapshot
	Given
	byUID map[string][]*corev1.Event           // the last ones first
	types func() []*cloudprovider.InstanceType // of the cluster's region
}

// only is the part of a status that is about one pool.
func (s Status) only(pool string) (Status, error) {
	var names []string
	for _, p := range s.Pools {
		names = append(names, p.Name)
	}
	at := slices.Index(names, pool)
	if at < 0 {
		return s, fmt.Errorf("there is no pool %s; there are: %s", pool, strings.Join(names, ", "))
	}
	p := s.Pools[at]
	s.Pools, s.Nodes, s.Coming, s.Cost, s.Unpriced = []Pool{p}, p.Nodes, p.coming, p.Cost, p.Unpriced
	s.Classes = keep(s.Classes, func(c Class) bool { return c.Name == p.Class })
	s.Limits = keep(s.Limits, func(l Limit) bool { return len(l.Pools) == 0 || slices.Contains(l.Pools, pool) })
	s.Waiting = keep(s.Waiting, func(w Workload) bool { return slices.Contains(w.Pools, pool) })
	s.NodePlans = keep(s.NodePlans, func(n NodePlan) bool { return slices.Contains(n.pools, pool) })
	return s, nil
}

// keep are some of those that there are; nil where these are not known.
func keep[T any](all []T, some func(T) bool) []T {
	if all == nil {
		return nil
	}
	kept := []T{}
	for _, one := range all {
		if some(one) {
			kept = append(kept, one)
		}
	}
	return kept
}

// Package inspect reports on a cluster: what is happening in it (status), why something is as it is (why), and whether
// everything that lkeplan needs is in place (doctor).
//
// It changes nothing. Status and why are functions of a Snapshot, prices and a time; doctor sends
// lists, reviews and dry runs. It knows no terminal.
package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/costs"
	"github.com/lkeplan/lkeplan/engine/stop"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Given is what is known about the cluster in addition to the lists.
type Given struct {
	Place   string // the context and server of the cluster, for people
	Catalog *catalog.Catalog
	Now     time.Time
	Pool    string    // the only one to report; "" for all
	Region  string    // of the cluster; "" takes that of its nodes
	CostBy  *costs.By // what the cost of the nodes is split by; nil for nothing
}

// Status is the state of a cluster. Limits and NodePlans are nil, which means unknown, if they could not be listed.
type Status struct {
	Place     string           `json:"cluster"`
	Stopped   string           `json:"disruption_stopped,omitempty"` // until when, by whom and why
	Nodes     int              `json:"nodes"`                        // machines, including those on the way
	Coming    int              `json:"coming"`                       // of these, on the way
	Cost      catalog.Price    `json:"cost"`                         // without the unpriced
	Unpriced  int              `json:"unpriced,omitempty"`           // nodes whose price is unknown
	NodeList  []Node           `json:"node_list"`
	Pools     []PoolStatus     `json:"pools"`
	Classes   []ClassStatus    `json:"node_classes"` // with something to report
	Limits    []LimitStatus    `json:"capacity_limits"`
	Waiting   []Workload       `json:"pods_waiting"`
	NodePlans []NodePlanStatus `json:"nodeplans"`
	Costs     *costs.Breakdown `json:"costs,omitempty"` // what each namespace or label pays for nodes with a known price
	Notes     []string         `json:"notes"`           // what could not be read or computed
	NotListed []string         `json:"not_listed"`      // kinds that could not be listed: their objects are unknown
	now       time.Time
}

// Remark is one line of a report.
type Remark struct {
	What  RemarkKind `json:"what"`
	Text  string     `json:"text"`
	Since *time.Time `json:"since,omitempty"`

	quoted bool // it is quoted from a condition or an event
}

// RemarkKind is a class of remarks.
type RemarkKind string

// The kinds of remarks.
const (
	RemarkNotReady  RemarkKind = "not-ready"   // no node is created for it
	RemarkClass     RemarkKind = "class"       // no node is created for it, because its LinodeNodeClass is not ready
	RemarkLinode    RemarkKind = "linode"      // the Linode API does not answer, or refuses the token
	RemarkStock     RemarkKind = "stock"       // a plan type is out of stock
	RemarkFull      RemarkKind = "limit"       // a limit is reached
	RemarkRefused   RemarkKind = "refused"     // no machine is created
	RemarkUndeleted RemarkKind = "undeleted"   // a machine cannot be deleted, and is billed
	RemarkReplicas  RemarkKind = "replicas"    // a pool with replicas does not get another machine
	RemarkRolling   RemarkKind = "rolling"     // nodes are to be replaced, or have not joined
	RemarkLoop      RemarkKind = "loop"        // nodes were replaced repeatedly, and are kept now
	RemarkHeld      RemarkKind = "held"        // something blocks the replacement of nodes
	RemarkCondemned RemarkKind = "condemned"   // the pool is draining
	RemarkHosts     RemarkKind = "maintenance" // Linode maintains the hosts of nodes
	RemarkRefresh   RemarkKind = "refresh"     // nodes are replaced because of their age
	RemarkRelabel   RemarkKind = "relabel"     // labels or annotations of nodes are being changed in place
	RemarkUnhealthy RemarkKind = "unhealthy"   // so many nodes are not ready that none is repaired
	RemarkPrice     RemarkKind = "price"       // Linode has changed a price, for which Karpenter may move nodes
	RemarkDrift     RemarkKind = "drift"       // another tool has set a field that lkeplan does not set
	RemarkVersion   RemarkKind = "version"     // the versions of nodes and control plane differ
)

// NewStatus reports what is happening in a cluster.
func NewStatus(l cluster.Snapshot, g Given) (Status, error) {
	return newReader(l.Sorted(), g).status()
}

func (w *reader) status() (Status, error) {
	s := Status{
		Place: w.Place, Notes: append(append([]string{}, w.Notes...), notesOnUnlisted(w.Unlisted)...), NotListed: append([]string{}, w.Unlisted...), now: w.Now,
	}
	if err := w.findOutdated(); err != nil {
		return s, err
	}
	nodes := w.nodes()
	sum := totalsOf(nodes)
	s.Nodes, s.Coming, s.Cost, s.Unpriced, s.NodeList = sum.nodes, sum.coming, sum.cost, sum.unpriced, nodes
	s.Stopped = stop.At(w.Stops, w.Now).String()
	s.Pools, s.Classes, s.Waiting = w.pools(nodes), w.classes(), w.waiting()
	if w.Unread(cluster.KindLimits) == "" {
		s.Limits = w.limits()
	}
	if w.Unread(cluster.KindPlans) == "" {
		s.NodePlans = w.nodePlans()
	}
	var err error
	if w.Pool != "" {
		s, err = s.only(w.Pool)
	}
	if w.CostBy != nil {
		s.Costs = w.CostBy.Split(w.payers(s.NodeList))
	}
	return s, err
}

// notesOnUnlisted returns notes on what a status lacks without some kinds.
func notesOnUnlisted(unlisted []string) (notes []string) {
	for _, of := range []struct{ kind, what string }{
		{cluster.KindBudgets, "what blocks the replacement of nodes"},
		{cluster.KindLimits, "whether a CapacityLimit is reached"},
		{cluster.KindPlans, "what NodePlans have applied"},
		{cluster.KindStops, "whether disruption is stopped"},
		{cluster.KindEvents, "what Linode and Karpenter said last"},
	} {
		if slices.Contains(unlisted, of.kind) {
			notes = append(notes, fmt.Sprintf("Unknown without %s: %s.", of.kind, of.what))
		}
	}
	return notes
}

// only returns the part of a status that is about one pool.
func (s Status) only(pool string) (Status, error) {
	var names []string
	for _, p := range s.Pools {
		names = append(names, p.Name)
	}
	at := slices.Index(names, pool)
	if at < 0 {
		return s, fmt.Errorf("there is no pool %s; the pools are: %s", pool, strings.Join(names, ", "))
	}
	p := s.Pools[at]
	s.Pools, s.Nodes, s.Coming, s.Cost, s.Unpriced = []PoolStatus{p}, p.Nodes, p.coming, p.Cost, p.Unpriced
	s.NodeList = filterList(s.NodeList, func(n Node) bool { return n.Pool == pool })
	s.Classes = filterList(s.Classes, func(c ClassStatus) bool { return c.Name == p.Class })
	s.Limits = filterList(s.Limits, func(l LimitStatus) bool { return len(l.Pools) == 0 || slices.Contains(l.Pools, pool) })
	s.Waiting = filterList(s.Waiting, func(w Workload) bool { return slices.Contains(w.Pools, pool) })
	s.NodePlans = filterList(s.NodePlans, func(n NodePlanStatus) bool { return slices.Contains(n.pools, pool) })
	return s, nil
}

// filterList filters a list; nil stays nil, which is unknown.
func filterList[T any](all []T, some func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return !some(one) })
}

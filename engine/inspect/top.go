package inspect

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Prices returns what a plan type costs in a region.
type Prices func(plan, region string) (catalog.Price, bool)

// Screen is everything that top shows.
type Screen struct {
	Total Row       `json:"total"`
	Pools []PoolRow `json:"pools"`
	Nodes []NodeRow `json:"nodes"`
	Wait  Tally     `json:"pods_waiting"` // for a node
	Notes []string  `json:"notes,omitempty"`
	// NotListed are the kinds that could not be listed: their objects are unknown.
	NotListed []string `json:"not_listed,omitempty"`
}

// Row is what nodes have in common: one, those of a pool, or all.
type Row struct {
	CPU    Use           `json:"cpu_millicores"`
	Memory Use           `json:"memory_bytes"`
	Pods   Tally         `json:"pods"`
	Cost   catalog.Price `json:"cost"`    // without the unpriced
	Count  int           `json:"nodes"`   // machines, including those on the way
	Coming Tally         `json:"coming"`  // of these, on the way
	Rolls  Tally         `json:"rolling"` // outdated, or being removed
	// Unpriced are those whose plan type, or its price in their region, is unknown.
	Unpriced int `json:"unpriced"`
}

// Tally is how many are known of something. It is null in JSON
// if there may be more.
type Tally struct {
	N       int64
	Unknown bool // there may be more
}

// MarshalJSON implements json.Marshaler.
func (t Tally) MarshalJSON() ([]byte, error) {
	if t.Unknown {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, t.N, 10), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Tally) UnmarshalJSON(text []byte) (err error) {
	if *t = (Tally{Unknown: true}); string(text) != "null" {
		t.Unknown = false
		t.N, err = strconv.ParseInt(string(text), 10, 64)
	}
	return err
}

// String is the number, with ? if there may be more.
func (t Tally) String() string {
	switch {
	case !t.Unknown:
		return strconv.FormatInt(t.N, 10)
	case t.N == 0:
		return "?"
	}
	return strconv.FormatInt(t.N, 10) + "+?"
}

func (t *Tally) add(other Tally) {
	t.N = plus(t.N, other.N)
	t.Unknown = t.Unknown || other.Unknown
}

// Use is what pods request of what is allocatable.
type Use struct {
	Requested   Tally `json:"requested"`
	Allocatable int64 `json:"allocatable"`
}

// Share is the requested part; 0 if nothing is allocatable.
func (u Use) Share() float64 {
	if u.Allocatable <= 0 {
		return 0
	}
	return min(float64(u.Requested.N)/float64(u.Allocatable), mostShare)
}

// mostShare is the largest part that is shown.
const mostShare = 99.99

func (u *Use) add(other Use) {
	u.Requested.add(other.Requested)
	u.Allocatable = plus(u.Allocatable, other.Allocatable)
}

// PoolRow is a NodePool.
type PoolRow struct {
	Name string `json:"name"` // "" for the nodes without a pool
	Row
	Limits []string `json:"limits,omitempty"` // such as cpu 96/400
}

// NodeRow is a node, or a NodeClaim whose node is on the way.
type NodeRow struct {
	Name  string `json:"name"`
	Claim string `json:"nodeclaim,omitempty"`
	Pool  string `json:"pool"`
	Plan  string `json:"plan"`
	Row
	Created time.Time `json:"created"`
	State   State     `json:"state"`
	Why     string    `json:"why,omitempty"`
}

// Matches reports whether the name, the pool, the plan type or the state of the node contains a text; case does not matter.
func (n NodeRow) Matches(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	return slices.ContainsFunc([]string{n.Name, n.Pool, n.Plan, string(n.State)}, func(of string) bool {
		return strings.Contains(strings.ToLower(of), text)
	})
}

// NewScreen returns the screen of a cluster, its nodes ordered by pool and name. Pods that have ended may be in it.
func NewScreen(c cluster.Snapshot, prices Prices) Screen {
	c = c.Sorted()
	s := Screen{Notes: c.Notes, NotListed: c.Unlisted}
	used := map[string]*load{}
	for _, pod := range c.Pods {
		s.Wait.N += count(used, pod)
	}
	claims, without := claimsOf(c.Nodes, c.Claims)
	for _, node := range c.Nodes {
		s.Nodes = append(s.Nodes, nodeOf(node, claims[node.Name], used[node.Name], prices))
	}
	for _, nc := range without {
		s.Nodes = append(s.Nodes, coming(nc, prices))
	}
	slices.SortFunc(s.Nodes, func(a, b NodeRow) int {
		return cmp.Or(strings.Compare(a.Pool, b.Pool), strings.Compare(a.Name, b.Name))
	})
	for i := range s.Nodes {
		s.unsure(&s.Nodes[i].Row)
	}
	s.Pools = poolsOf(c.Pools, s.Nodes)
	for i := range s.Pools {
		s.unsure(&s.Pools[i].Row) // including those without nodes
	}
	for _, n := range s.Nodes {
		s.Total.add(n.Row)
	}
	s.unsure(&s.Total)
	s.Wait.Unknown = s.podless()
	return s
}

// claimsOf finds the NodeClaim of each node, by the node's name, and the NodeClaims without a node.
//
// A node that joins is that of the NodeClaim with its provider id, before Karpenter writes its name on it. If LKE does
// not list its machine yet, which takes minutes on Enterprise, no NodeClaim has that id: it counts as the node of an
// older NodeClaim of the same pool and plan that waits for a machine; otherwise it would count twice. So does a node
// to which the cloud controller has not given an id yet.
func claimsOf(nodes []*corev1.Node, claims []*karpv1.NodeClaim) (
	of map[string]*karpv1.NodeClaim, without []*karpv1.NodeClaim,
) {
	of = map[string]*karpv1.NodeClaim{}
	byID := map[string][]string{} // names of nodes: kubelets can write the same id
	for _, n := range nodes {
		of[n.Name] = nil
		if n.Spec.ProviderID != "" {
			byID[n.Spec.ProviderID] = append(byID[n.Spec.ProviderID], n.Name)
		}
	}
	var unnamed []*karpv1.NodeClaim
	for _, nc := range claims {
		if first, there := of[nc.Status.NodeName]; there && first == nil {
			of[nc.Status.NodeName] = nc
		} else {
			unnamed = append(unnamed, nc)
		}
	}
	for _, nc := range unnamed {
		same := byID[nc.Status.ProviderID]
		if at := slices.IndexFunc(same, func(name string) bool { return of[name] == nil }); at >= 0 {
			of[same[at]] = nc
		} else {
			without = append(without, nc)
		}
	}
	slices.SortFunc(without, func(a, b *karpv1.NodeClaim) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	for _, n := range nodes {
		pool := n.Labels[karpv1.NodePoolLabelKey]
		if of[n.Name] != nil || pool == "" {
			continue
		}
		at := slices.IndexFunc(without, func(nc *karpv1.NodeClaim) bool {
			state, _ := absent(nc)
			waits := state == StateOrdered || state == StateBooting && n.Spec.ProviderID == ""
			plan := n.Labels[corev1.LabelInstanceTypeStable]
			return waits && nc.Status.NodeName == "" && nc.Labels[karpv1.NodePoolLabelKey] == pool &&
				(planOf(nc) == plan || plan == "" && n.Spec.ProviderID == "") &&
				!n.CreationTimestamp.Time.Before(nc.CreationTimestamp.Time)
		})
		if at >= 0 {
			of[n.Name], without = without[at], slices.Delete(without, at, at+1)
		}
	}
	return of, without
}

// unsure marks in a row what is unknown.
func (s Screen) unsure(r *Row) {
	r.Pods.Unknown = s.podless()
	r.CPU.Requested.Unknown, r.Memory.Requested.Unknown = s.podless(), s.podless()
	r.Coming.Unknown, r.Rolls.Unknown = s.claimless(), s.claimless()
}

// plus adds amounts that are not negative. A sum that is too large is the largest number.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// millis is a quantity in thousandths, and ones is one in units. Kubelets and authors of pods write quantities of any
// size: one that is too large becomes the largest number, and a negative one zero.
func millis(q *resource.Quantity) int64 {
	if q.CmpInt64(math.MaxInt64/1000) > 0 {
		return math.MaxInt64
	}
	return max(0, q.MilliValue())
}

func ones(q *resource.Quantity) int64 {
	if q.CmpInt64(math.MaxInt64) > 0 {
		return math.MaxInt64
	}
	return max(0, q.Value())
}

// load is what the pods of a node request.
type load struct {
	cpu, memory, pods int64
}

// count adds a pod to its node, and returns 1 for one that waits for a node.
func count(used map[string]*load, pod *corev1.Pod) (waits int64) {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return 0
	}
	if pod.Spec.NodeName == "" {
		return 1
	}
	l := used[pod.Spec.NodeName]
	if l == nil {
		l = &load{}
		used[pod.Spec.NodeName] = l
	}
	asked := resources.RequestsForSpec(&pod.Spec)
	l.cpu = plus(l.cpu, millis(asked.Cpu()))
	l.memory = plus(l.memory, ones(asked.Memory()))
	l.pods++
	return 0
}

func nodeOf(node *corev1.Node, nc *karpv1.NodeClaim, l *load, prices Prices) NodeRow {
	n := NodeRow{
		Name: node.Name, Pool: node.Labels[karpv1.NodePoolLabelKey], Plan: node.Labels[corev1.LabelInstanceTypeStable],
		Created: node.CreationTimestamp.Time,
	}
	if nc != nil {
		n.Claim = nc.Name
		n.Pool, n.Plan = cmp.Or(n.Pool, nc.Labels[karpv1.NodePoolLabelKey]), cmp.Or(n.Plan, planOf(nc))
	}
	n.CPU.Allocatable = millis(node.Status.Allocatable.Cpu())
	n.Memory.Allocatable = ones(node.Status.Allocatable.Memory())
	if l != nil {
		n.CPU.Requested.N, n.Memory.Requested.N, n.Pods.N = l.cpu, l.memory, l.pods
	}
	n.State, n.Why = stateOf(node, nc)
	n.Count = 1
	if n.State.rolls() {
		n.Rolls.N = 1
	}
	n.price(prices, node.Labels[corev1.LabelTopologyRegion])
	return n
}

// coming is the node that a NodeClaim is waiting for.
func coming(nc *karpv1.NodeClaim, prices Prices) NodeRow {
	n := NodeRow{
		Name: nc.Name, Claim: nc.Name, Pool: nc.Labels[karpv1.NodePoolLabelKey], Plan: planOf(nc),
		Created: nc.CreationTimestamp.Time,
	}
	n.CPU.Allocatable = millis(nc.Status.Allocatable.Cpu())
	n.Memory.Allocatable = ones(nc.Status.Allocatable.Memory())
	n.State, n.Why = stateOf(nil, nc)
	n.Count = 1
	if n.State == StateOrdered || n.State == StateBooting {
		n.Coming.N = 1
	}
	n.price(prices, nc.Labels[corev1.LabelTopologyRegion])
	return n
}

// price sets what a node costs in its region, or that this is unknown.
func (n *NodeRow) price(prices Prices, region string) {
	cost, known := prices(n.Plan, region)
	if !known {
		n.Unpriced = 1
		return
	}
	n.Cost = catalog.Price{Hourly: cost.Hourly, Monthly: cost.PerMonth()} // some have no monthly price
}

func planOf(nc *karpv1.NodeClaim) string { return nc.Labels[corev1.LabelInstanceTypeStable] }

func (r *Row) add(other Row) {
	r.CPU.add(other.CPU)
	r.Memory.add(other.Memory)
	r.Pods.add(other.Pods)
	r.Cost.Hourly += other.Cost.Hourly
	r.Cost.Monthly += other.Cost.Monthly
	r.Count += other.Count
	r.Coming.add(other.Coming)
	r.Rolls.add(other.Rolls)
	r.Unpriced += other.Unpriced
}

// poolsOf sums up the nodes of each pool. Nodes without a pool come last.
func poolsOf(pools []*karpv1.NodePool, nodes []NodeRow) (all []PoolRow) {
	rows := map[string]Row{}
	for _, n := range nodes {
		row := rows[n.Pool]
		row.add(n.Row)
		rows[n.Pool] = row
	}
	for _, p := range pools {
		all = append(all, PoolRow{Name: p.Name, Row: rows[p.Name], Limits: limitsOf(p)})
		delete(rows, p.Name)
	}
	for name, row := range rows { // of NodePools that were deleted, or cannot be read
		all = append(all, PoolRow{Name: name, Row: row})
	}
	slices.SortFunc(all, func(a, b PoolRow) int {
		return cmp.Or(order(a.Name == "", b.Name == ""), strings.Compare(a.Name, b.Name))
	})
	return all
}

// order puts false before true.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// limitsOf is the use of the limits of a NodePool.
func limitsOf(p *karpv1.NodePool) (limits []string) {
	for name, most := range p.Spec.Limits {
		used := p.Status.Resources[name]
		limits = append(limits, string(name)+" "+amountText(string(name), used.String())+"/"+amountText(string(name), most.String()))
	}
	slices.Sort(limits)
	return limits
}

// Detail is everything about one node.
type Detail struct {
	NodeRow
	Facts [][2]string // name and value
	Pods  []PodRow

	podless bool // they are not known
}

// PodRow is a pod of a node.
type PodRow struct {
	Name    string // with its namespace
	CPU     int64  // millicores that it requests
	Memory  int64  // bytes
	Created time.Time
	Held    bool // it blocks the replacement of its node
}

// Detail returns everything about a node of the screen.
func (s Screen) Detail(c cluster.Snapshot, name string) (d Detail, ok bool) {
	i := slices.IndexFunc(s.Nodes, func(n NodeRow) bool { return n.Name == name })
	if i < 0 {
		return d, false
	}
	d.NodeRow, d.podless = s.Nodes[i], s.podless()
	for _, node := range c.Nodes {
		if node.Name == name {
			d.Facts = append(d.Facts, factsOf(node)...)
		}
	}
	for _, nc := range c.Claims {
		if nc.Name == d.Claim {
			d.Facts = append(d.Facts, conditionsOf(nc)...)
		}
	}
	for _, pod := range c.Pods {
		if pod.Spec.NodeName != name || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		asked := resources.RequestsForSpec(&pod.Spec)
		d.Pods = append(d.Pods, PodRow{
			Name: pod.Namespace + "/" + pod.Name, CPU: millis(asked.Cpu()), Memory: ones(asked.Memory()),
			Created: pod.CreationTimestamp.Time, Held: pod.Annotations[karpv1.DoNotDisruptAnnotationKey] == "true",
		})
	}
	slices.SortFunc(d.Pods, func(a, b PodRow) int {
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(b.Memory, a.Memory), strings.Compare(a.Name, b.Name))
	})
	return d, true
}

func factsOf(node *corev1.Node) [][2]string {
	info := node.Status.NodeInfo
	facts := [][2]string{
		{"Linode", node.Spec.ProviderID}, {"region", node.Labels[corev1.LabelTopologyRegion]},
		{"kubelet", info.KubeletVersion}, {"system", info.OSImage},
	}
	for _, t := range node.Spec.Taints {
		facts = append(facts, [2]string{"taint", t.ToString()})
	}
	return slices.DeleteFunc(facts, func(f [2]string) bool { return f[1] == "" })
}

// conditionsOf are the conditions of a NodeClaim that report a problem or a message.
func conditionsOf(nc *karpv1.NodeClaim) (facts [][2]string) {
	facts = append(facts, [2]string{"NodeClaim", nc.Name})
	for _, c := range nc.Status.Conditions {
		if c.Message == "" && (c.Reason == "" || c.Reason == c.Type) {
			continue
		}
		facts = append(facts, [2]string{c.Type, strings.TrimSpace(string(c.Status) + " " + c.Reason + ": " + c.Message)})
	}
	return facts
}

// SortKey is the order of nodes.
type SortKey string

// The keys, as people name them.
const (
	ByPool   SortKey = "pool"
	ByName   SortKey = "name"
	ByCPU    SortKey = "cpu"
	ByMemory SortKey = "memory"
	ByCost   SortKey = "cost"
	ByAge    SortKey = "age"
	ByState  SortKey = "state"
)

// SortKeys are all keys.
func SortKeys() []string {
	return []string{
		string(ByPool), string(ByName), string(ByCPU), string(ByMemory), string(ByCost), string(ByAge), string(ByState),
	}
}

// Sort sorts the nodes: names from a to z, states that need attention first,
// amounts from large to small. Equal nodes are sorted by pool and name.
func (s *Screen) Sort(by SortKey, reverse bool) {
	compare := map[SortKey]func(a, b NodeRow) int{
		ByPool:   func(a, b NodeRow) int { return strings.Compare(a.Pool, b.Pool) },
		ByName:   func(a, b NodeRow) int { return strings.Compare(a.Name, b.Name) },
		ByCPU:    func(a, b NodeRow) int { return cmp.Compare(b.CPU.Share(), a.CPU.Share()) },
		ByMemory: func(a, b NodeRow) int { return cmp.Compare(b.Memory.Share(), a.Memory.Share()) },
		ByCost:   func(a, b NodeRow) int { return cmp.Compare(b.Cost.PerMonth(), a.Cost.PerMonth()) },
		ByAge:    func(a, b NodeRow) int { return a.Created.Compare(b.Created) },
		ByState: func(a, b NodeRow) int {
			return cmp.Compare(slices.Index(states, a.State), slices.Index(states, b.State))
		},
	}[by]
	slices.SortStableFunc(s.Nodes, func(a, b NodeRow) int {
		order := compare(a, b)
		if reverse {
			order = -order
		}
		return cmp.Or(order, strings.Compare(a.Pool, b.Pool), strings.Compare(a.Name, b.Name))
	})
}

// State is the state of a node.
type State string

// The states; those that need attention first.
const (
	StateNotReady State = "not ready"
	StateOrdered  State = "ordered"  // its machine is requested from Linode
	StateBooting  State = "booting"  // the machine exists, and has not joined
	StateJoining  State = "joining"  // it has joined, and cannot run pods yet
	StateDraining State = "draining" // it is being deleted
	StateLeaving  State = "leaving"  // Karpenter has decided to replace or remove it
	StateOutdated State = "outdated" // it will be replaced within the budgets
	StateCordoned State = "cordoned"
	StateReady    State = "ready"
)

// states are all states in order.
var states = []State{StateNotReady, StateOrdered, StateBooting, StateJoining, StateDraining, StateLeaving,
	StateOutdated, StateCordoned, StateReady}

// rolls reports whether a node in the state is replaced or removed, now or soon.
func (s State) rolls() bool { return s == StateDraining || s == StateLeaving || s == StateOutdated }

// stateOf is the state of a node, and the reason if there is one. One of the two arguments may
// be missing.
func stateOf(node *corev1.Node, nc *karpv1.NodeClaim) (state State, why string) {
	switch {
	case node == nil:
		return absent(nc)
	case !node.DeletionTimestamp.IsZero(), nc != nil && !nc.DeletionTimestamp.IsZero():
		return StateDraining, reasonOf(nc, karpv1.ConditionTypeDisruptionReason)
	case tainted(node, karpv1.DisruptedTaintKey):
		return StateLeaving, reasonOf(nc, karpv1.ConditionTypeDisruptionReason)
	}
	if ready := nodeutils.GetCondition(node, corev1.NodeReady); ready.Status != corev1.ConditionTrue {
		if ready.Status == "" {
			return StateNotReady, "its kubelet does not report"
		}
		return StateNotReady, ready.Reason
	}
	switch {
	case tainted(node, karpv1.UnregisteredTaintKey), nc != nil && !condition(nc, karpv1.ConditionTypeInitialized).IsTrue():
		return StateJoining, ""
	case nc != nil && condition(nc, karpv1.ConditionTypeDrifted).IsTrue():
		return StateOutdated, reasonOf(nc, karpv1.ConditionTypeDrifted)
	case node.Spec.Unschedulable:
		return StateCordoned, ""
	}
	return StateReady, ""
}

// absent is the state of a NodeClaim without a Node.
func absent(nc *karpv1.NodeClaim) (State, string) {
	switch {
	case !nc.DeletionTimestamp.IsZero():
		return StateDraining, reasonOf(nc, karpv1.ConditionTypeDisruptionReason)
	case strings.HasPrefix(nc.Status.ProviderID, "linode://"):
		return StateBooting, ""
	}
	return StateOrdered, ""
}

func tainted(node *corev1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

// condition is a condition of a NodeClaim; nil if it does not have it.
func condition(nc *karpv1.NodeClaim, kind string) *status.Condition {
	return nc.StatusConditions(status.WithObservedOnly()).Get(kind)
}

// reasonOf is the reason of a condition that is true; "" if it is not.
func reasonOf(nc *karpv1.NodeClaim, kind string) string {
	if nc == nil || !condition(nc, kind).IsTrue() {
		return ""
	}
	return condition(nc, kind).Reason
}

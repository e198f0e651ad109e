// Package instancetype describes Linode's plan types to Karpenter for one region: the size of their nodes, their
// price and whether they are available. New returns a Set from a price list; a Refresher and an Observer update it
// with newer prices and with what nodes report.
//
// It knows no LKE pool and no NodeClaim, and chooses nothing: Candidates lists the types that meet requirements,
// cheapest first.
package instancetype

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Set has the plan types of the catalog as Karpenter's instance types in one region. It is safe for concurrent use.
// It leaves out plan types of unknown size. It has plan types of unknown price, but no node is created with them,
// because Karpenter would compare the price with others.
//
// An instance type keeps its pointer until something about it changes, because Karpenter computes allocatable
// resources once for each pointer.
type Set struct {
	region string
	tier   catalog.Tier

	mu       sync.Mutex
	facts    *catalog.Catalog
	plans    map[string]catalog.Plan // including those that are no longer in the facts
	blocked  map[string]time.Time    // plan types that are out of stock, with the end of the block
	closed   map[string]time.Time    // those of them that are closed to the account
	expires  time.Time               // when the first block ends; zero means never
	version  string                  // minor version of Kubernetes that new nodes have
	reported map[observation]catalog.NodeResources
	out      map[string]bool // plan types that are out of stock according to the region
	account  *account        // nil means that every plan is sold to it
	now      List
	changed  chan struct{} // see Blocking
	closing  chan struct{} // see Closing
}

// account is what is known about the account that buys plans.
type account struct {
	capabilities []string
	unknown      string // why the capabilities are unknown; "" if they are known
}

// observation is a plan type whose nodes have joined under a minor version of
// Kubernetes.
type observation struct{ plan, version string }

// List holds all types at one moment. Its slices are shared: they must not be
// changed, not even sorted.
type List struct {
	Version uint64                        // grows with each change
	Types   []*cloudprovider.InstanceType // sorted by name
	hidden  []*cloudprovider.InstanceType // the same ones, without an available offering
}

// New returns the plan types of the catalog for LKE clusters of the tier in the region. Those that the region does
// not sell are included without an available offering, as Karpenter requires.
func New(c *catalog.Catalog, region string, tier catalog.Tier) *Set {
	t := &Set{
		region: region, tier: tier, plans: map[string]catalog.Plan{},
		blocked: map[string]time.Time{}, reported: map[observation]catalog.NodeResources{},
		closed:  map[string]time.Time{},
		changed: make(chan struct{}, 1), closing: make(chan struct{}, 1),
	}
	t.Refresh(c)
	return t
}

// Region returns the region whose offerings the types have.
func (t *Set) Region() string { return t.region }

// List returns all types. The slice is shared and must not be changed.
func (t *Set) List() []*cloudprovider.InstanceType { return t.Snapshot().Types }

// Snapshot returns all types with their version.
func (t *Set) Snapshot() List {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire()
	return t.now
}

// Repriced is a plan type whose price has changed.
type Repriced struct {
	Plan     string
	Was, Now catalog.Price
}

// Refresh updates the facts, and returns the plan types whose price has changed, by name. Plan types that are no
// longer in the facts stay, without an available offering, because nodes of them may still run.
func (t *Set) Refresh(facts *catalog.Catalog) (repriced []Repriced) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := map[string]catalog.Price{}
	for id := range t.plans {
		was[id] = t.price(id)
	}
	t.facts = facts
	for _, plan := range facts.Plans() {
		if plan.Sized() {
			t.plans[plan.ID] = plan
		}
	}
	t.rebuild(slices.Sorted(maps.Keys(t.plans))...)
	for _, id := range slices.Sorted(maps.Keys(was)) {
		if now := t.price(id); now != was[id] {
			repriced = append(repriced, Repriced{id, was[id], now})
		}
	}
	return repriced
}

// SetStock updates the region's stock. A plan type that is out of stock is still offered, because the list is only
// a snapshot; if LKE refuses an attempt, the plan type is blocked. It only comes after equal plan types that are in
// stock.
func (t *Set) SetStock(rows []catalog.Availability) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.out = map[string]bool{}
	for _, row := range rows {
		t.out[row.Plan] = !row.Available
	}
}

// SetAccount sets the capabilities of the account. Plans that need another capability are not offered. If unknown
// is not "", it says why the capabilities are unknown, and no plan that needs one is offered.
func (t *Set) SetAccount(capabilities []string, unknown string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.account = &account{capabilities, unknown}
	t.rebuild(slices.Sorted(maps.Keys(t.plans))...)
}

// AccountMatters reports whether the region sells plans that need a capability of the account.
func (t *Set) AccountMatters() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.facts.Plans(), func(p catalog.Plan) bool {
		return p.OfAccount() != "" && t.facts.Sold(p.ID, t.region, t.tier)
	})
}

// withheld reports whether a plan needs a capability that the account is not known to have.
func (t *Set) withheld(plan catalog.Plan) bool {
	needs := plan.OfAccount()
	return needs != "" && t.account != nil && !slices.Contains(t.account.capabilities, needs)
}

// WhyWithheld explains why requirements match no plan if all matching plans need a capability that the account is
// not known to have. It returns "" if they match other plans, or none.
func (t *Set) WhyWithheld(want scheduling.Requirements) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var plans []string
	needs := ""
	for _, it := range t.now.Types {
		plan := t.plans[it.Name]
		if want.Intersects(it.Requirements) != nil || !t.facts.Sold(it.Name, t.region, t.tier) {
			continue
		}
		if !t.withheld(plan) {
			return ""
		}
		plans, needs = append(plans, it.Name), plan.OfAccount()
	}
	if len(plans) == 0 {
		return ""
	}
	why := "the account lacks it; ask Linode Support"
	if t.account.unknown != "" {
		why = "whether this account has it is unknown: " + t.account.unknown
	}
	return fmt.Sprintf("%s require the account capability %q: %s", strings.Join(plans, ", "), needs, why)
}

// StockFirst sorts plan types that are in stock before those of the same price and size that are not, and premium
// ones last, because g7-dedicated is their new name. Otherwise it keeps the order of list, which Candidates has
// returned.
func (t *Set) StockFirst(list []*cloudprovider.InstanceType, want scheduling.Requirements) {
	t.mu.Lock()
	defer t.mu.Unlock()
	price := func(it *cloudprovider.InstanceType) float64 {
		return it.Offerings.Available().Compatible(want).Cheapest().Price
	}
	type alike struct {
		price                            float64
		cpus, memory, disk, gpus, others int
	}
	places := map[alike][]int{}
	for i, it := range list {
		p := t.plans[it.Name]
		key := alike{price(it), p.VCPUs, p.MemoryMiB, p.DiskMiB, p.GPUs, p.AcceleratedDevices}
		places[key] = append(places[key], i)
	}
	for _, at := range places {
		var types []*cloudprovider.InstanceType
		for _, i := range at {
			types = append(types, list[i])
		}
		slices.SortStableFunc(types, func(a, b *cloudprovider.InstanceType) int {
			return cmp.Or(trueFirst(!t.out[a.Name], !t.out[b.Name]),
				trueFirst(t.plans[a.Name].Class != "premium", t.plans[b.Name].Class != "premium"))
		})
		for n, i := range at {
			list[i] = types[n]
		}
	}
}

// trueFirst puts true before false.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// Unknown returns the plans that the region sells, but with which no node is created because their price or size is
// unknown, with the known labels of their nodes, by id.
func (t *Set) Unknown() iter.Seq2[string, scheduling.Requirements] {
	t.mu.Lock()
	defer t.mu.Unlock()
	facts := t.facts
	return func(yield func(string, scheduling.Requirements) bool) {
		for _, plan := range facts.Plans() {
			if _, priced := facts.Price(plan.ID, t.region); priced && plan.Sized() || !facts.Sold(plan.ID, t.region, t.tier) {
				continue
			}
			has := planRequirements(plan, t.region)
			if !plan.Sized() {
				for _, unknown := range []string{
					linodev1alpha1.LabelInstanceCPU, linodev1alpha1.LabelInstanceMemory, linodev1alpha1.LabelInstanceDisk,
					linodev1alpha1.LabelInstanceNetworkOut, linodev1alpha1.LabelInstanceTransfer,
				} {
					delete(has, unknown)
				}
			}
			if !yield(plan.ID, has) {
				return
			}
		}
	}
}

// WhyNothing explains why no node is created for requirements that match plans of Unknown; "" if they match none.
func (t *Set) WhyNothing(want scheduling.Requirements) string {
	var plans []string
	for id, has := range t.Unknown() {
		if want.Intersects(has) == nil {
			plans = append(plans, id)
		}
	}
	if len(plans) == 0 {
		return ""
	}
	const shown = 3
	text := strings.Join(plans[:min(len(plans), shown)], ", ")
	if more := len(plans) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprintf("the price catalogue%s does not have the price or the size of %s; a newer catalogue may have them", t.facts.Age(), text)
}

// Plan returns the catalog's entry of a plan type.
func (t *Set) Plan(id string) (catalog.Plan, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	plan, ok := t.plans[id]
	return plan, ok
}

// Price returns the price of a plan type in the region, or its price when it was last on the price list. The price
// can be unknown.
func (t *Set) Price(id string) catalog.Price {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.price(id)
}

func (t *Set) price(id string) catalog.Price {
	if _, listed := t.facts.Plan(id); listed {
		price, _ := t.facts.Price(id, t.region)
		return price
	}
	return t.plans[id].Price
}

// ClosedFor is how long a plan that is closed to the account is not requested again, because only Support can open
// it.
const ClosedFor = 6 * time.Hour

// Close blocks a plan that is closed to the account. This is not stored: after a restart the first claim of each
// such plan costs one refused call, and until then no class has the condition PlanClosed.
func (t *Set) Close(plan string, until time.Time) {
	t.mu.Lock()
	t.closed[plan] = until
	t.mu.Unlock()
	t.Block(plan, until)
	select {
	case t.closing <- struct{}{}:
	default:
	}
}

// Closing receives after a plan type was found closed to the account.
func (t *Set) Closing() <-chan struct{} { return t.closing }

// Closed returns the plan types that are closed to the account, and until when they are not requested.
func (t *Set) Closed() map[string]time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire()
	return maps.Clone(t.closed)
}

// Block makes the offering of a plan type unavailable until a time. It does not shorten the block of a closed plan.
func (t *Set) Block(plan string, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if closed := t.closed[plan]; until.Before(closed) {
		until = closed
	}
	t.blocked[plan] = until
	t.rebuild(plan)
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// Blocking receives after a plan type was blocked.
func (t *Set) Blocking() <-chan struct{} { return t.changed }

// Blocked returns the plan types that are blocked, and until when.
func (t *Set) Blocked() map[string]time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire()
	return maps.Clone(t.blocked)
}

// expire ends the blocks whose time has passed.
func (t *Set) expire() {
	now := time.Now()
	if t.expires.IsZero() || now.Before(t.expires) {
		return
	}
	var ended []string
	for plan, until := range t.blocked {
		if !now.Before(until) {
			delete(t.blocked, plan)
			delete(t.closed, plan)
			ended = append(ended, plan)
		}
	}
	t.rebuild(ended...)
}

// rebuild builds the types of some plans again and replaces those that have changed. It does not change lists that
// callers have.
func (t *Set) rebuild(plans ...string) {
	t.expires = time.Time{}
	for _, until := range t.blocked {
		if t.expires.IsZero() || until.Before(t.expires) {
			t.expires = until
		}
	}
	byName := make(map[string]*cloudprovider.InstanceType, len(t.plans))
	hidden := make(map[string]*cloudprovider.InstanceType, len(t.plans))
	for i, it := range t.now.Types {
		byName[it.Name], hidden[it.Name] = it, t.now.hidden[i]
	}
	changed := false
	for _, id := range plans {
		if _, known := t.plans[id]; !known {
			continue
		}
		if fresh := t.build(id, t.available(id)); !sameType(byName[id], fresh) {
			byName[id], hidden[id], changed = fresh, t.build(id, false), true
		}
	}
	if !changed {
		return
	}
	next := List{Version: t.now.Version + 1}
	for _, id := range slices.Sorted(maps.Keys(byName)) {
		next.Types, next.hidden = append(next.Types, byName[id]), append(next.hidden, hidden[id])
	}
	t.now = next
}

// WithoutGPUs returns the types, with no available offering for plans with GPUs.
func (t *Set) WithoutGPUs(types []*cloudprovider.InstanceType) []*cloudprovider.InstanceType {
	hidden := t.Snapshot().hidden
	types = slices.Clone(types)
	for i, it := range types {
		if plan, _ := t.Plan(it.Name); plan.Class != "gpu" {
			continue
		}
		types[i] = hidden[slices.IndexFunc(hidden, func(h *cloudprovider.InstanceType) bool { return h.Name == it.Name })]
	}
	return types
}

// OnlyGPUs reports whether all plans that match the requirements have GPUs; false if none match.
func (t *Set) OnlyGPUs(want scheduling.Requirements) (only bool) {
	for _, it := range t.List() {
		if want.Intersects(it.Requirements) == nil && t.Makes(it.Name) {
			if plan, _ := t.Plan(it.Name); plan.Class != "gpu" {
				return false
			}
			only = true
		}
	}
	return only
}

// Makes reports whether nodes of a plan type can be created if it is in stock and open to the account: it is
// sold in the region, and its size and price are known.
func (t *Set) Makes(plan string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.makes(plan)
}

func (t *Set) makes(plan string) bool {
	return t.facts.Sold(plan, t.region, t.tier) && t.plans[plan].Sized() && t.price(plan).Known()
}

func (t *Set) available(plan string) bool {
	_, blocked := t.blocked[plan]
	return !blocked && t.makes(plan) && !t.withheld(t.plans[plan])
}

func (t *Set) build(id string, available bool) *cloudprovider.InstanceType {
	return newInstanceType(t.plans[id], t.resources(id), t.region, t.price(id), available)
}

// SetVersion sets the version of Kubernetes that new nodes have.
func (t *Set) SetVersion(version string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.version = minorVersion(version)
	if len(t.reported) > 0 {
		t.rebuild(slices.Collect(maps.Keys(t.plans))...)
	}
}

// Record records what a node of a plan type reports under a minor version of Kubernetes. Nodes differ a little, and
// the smallest report counts. It ignores devices, because their plugins may not be installed, and reports that
// differ by more than nodes do, because a single kubelet must not decide for all future nodes. It returns false for
// such a report.
func (t *Set) Record(plan, version string, reports catalog.NodeResources) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, known := t.plans[plan]
	if !known || !isBelievable(reports, p, t.tier) {
		return false
	}
	at := observation{plan, version}
	if before, again := t.reported[at]; again {
		reports = leastOf(before, reports)
	}
	t.reported[at] = reports
	plans := []string{plan}
	if newest := catalog.NewestVersion(t.version, version); newest != t.version {
		t.version, plans = newest, slices.Collect(maps.Keys(t.plans)) // the cluster was upgraded
	}
	t.rebuild(plans...)
	return true
}

// isBelievable reports whether a node of a plan type can have the resources that it reports: no more than the plan,
// and no more for pods than in all. Firmware, kernel and file system use less than a fifth of memory and disk, and
// the reserved resources of an image's own kubelet are assumed to be less than half.
func isBelievable(reports catalog.NodeResources, plan catalog.Plan, tier catalog.Tier) bool {
	all, free, promise := reports.Capacity, reports.Allocatable, expectedResources(plan, tier)
	within := func(has, promised, percent, most int64) bool { return has >= promised*percent/100 && has <= most }
	return within(all.MemoryBytes, promise.Capacity.MemoryBytes, 80, int64(plan.MemoryMiB)<<20) &&
		(plan.DiskMiB == 0 || within(all.EphemeralBytes, promise.Capacity.EphemeralBytes, 80, int64(plan.DiskMiB)<<20)) &&
		within(free.MemoryBytes, promise.Allocatable.MemoryBytes, 50, all.MemoryBytes) &&
		within(free.EphemeralBytes, promise.Allocatable.EphemeralBytes, 50, all.EphemeralBytes)
}

// resources returns the resources with which Karpenter plans for a node of a plan type: what its nodes report under
// the version of new nodes. Without such a report it is what the price list says, or less if nodes of other
// versions report less.
func (t *Set) resources(id string) catalog.NodeResources {
	promise := expectedResources(t.plans[id], t.tier)
	if reports, ok := t.reported[observation{id, t.version}]; ok {
		for _, pair := range [][2]*catalog.Resources{
			{&promise.Capacity, &reports.Capacity}, {&promise.Allocatable, &reports.Allocatable},
		} {
			pair[0].MemoryBytes, pair[0].EphemeralBytes = pair[1].MemoryBytes, pair[1].EphemeralBytes
		}
		return promise
	}
	for at, reports := range t.reported {
		if at.plan == id {
			promise = leastOf(promise, reports)
		}
	}
	return promise
}

// leastOf returns a, with the memory and storage of b if b has less.
func leastOf(a, b catalog.NodeResources) catalog.NodeResources {
	for _, pair := range [][2]*catalog.Resources{
		{&a.Capacity, &b.Capacity}, {&a.Allocatable, &b.Allocatable},
	} {
		pair[0].MemoryBytes = min(pair[0].MemoryBytes, pair[1].MemoryBytes)
		pair[0].EphemeralBytes = min(pair[0].EphemeralBytes, pair[1].EphemeralBytes)
	}
	return a
}

// sameType reports whether two types of one plan are equal.
func sameType(a, b *cloudprovider.InstanceType) bool {
	return a != nil &&
		a.Offerings[0].Available == b.Offerings[0].Available &&
		a.Offerings[0].Price == b.Offerings[0].Price &&
		equality.Semantic.DeepEqual(a.Capacity, b.Capacity) &&
		equality.Semantic.DeepEqual(a.Overhead.EvictionThreshold, b.Overhead.EvictionThreshold) &&
		a.Requirements.String() == b.Requirements.String()
}

// Hidden returns all types without an available offering.
func (l List) Hidden() []*cloudprovider.InstanceType { return l.hidden }

// Without returns all types; those for whose index hide returns true have no available offering.
func (l List) Without(hide func(i int) bool) []*cloudprovider.InstanceType {
	types := slices.Clone(l.Types)
	for i := range types {
		if hide(i) {
			types[i] = l.hidden[i]
		}
	}
	return types
}

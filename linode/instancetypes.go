package linode

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// InstanceTypes are the plans of the catalogue as Karpenter sees them in one
// region: what they hold, what they cost, and whether they can be had. It is
// safe for concurrent use.
//
// A type keeps its pointer until something about it changes, because the core
// computes what is allocatable once for each pointer.
type InstanceTypes struct {
	region string
	tier   catalog.Tier

	mu      sync.Mutex
	facts   *catalog.Catalog
	plans   map[string]catalog.Plan // also those that the facts have lost
	blocked map[string]time.Time    // plans without capacity, until when
	expires time.Time               // when the first of them is over; zero for never
	version string                  // minor version of Kubernetes that new nodes have
	seen    map[sighting]catalog.NodeResources
	now     TypeList
}

// sighting is a plan whose nodes were seen under a version of Kubernetes.
type sighting struct{ plan, version string }

// TypeList is all types at one moment. Its slices are shared: they must not be
// changed, not even sorted.
type TypeList struct {
	Version uint64                        // grows with each change
	Types   []*cloudprovider.InstanceType // sorted by name
	hidden  []*cloudprovider.InstanceType // the same ones, without an available offering
}

// NewInstanceTypes returns the plans of the catalogue for LKE clusters of the
// tier in the region. Plans that the region does not sell are there too,
// without an available offering, as the core wants it.
func NewInstanceTypes(c *catalog.Catalog, region string, tier catalog.Tier) *InstanceTypes {
	t := &InstanceTypes{region: region, tier: tier, plans: map[string]catalog.Plan{}, blocked: map[string]time.Time{}, seen: map[sighting]catalog.NodeResources{}}
	t.Refresh(c)
	return t
}

// List returns all types. The slice is shared and must not be changed.
func (t *InstanceTypes) List() []*cloudprovider.InstanceType { return t.Snapshot().Types }

// Snapshot returns all types with the version that they are of.
func (t *InstanceTypes) Snapshot() TypeList {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.expires.IsZero() {
		t.expire(time.Now())
	}
	return t.now
}

// Refresh takes over newer facts. Plans that they do not have any more stay,
// and are offered no longer: nodes of them may still be there.
func (t *InstanceTypes) Refresh(facts *catalog.Catalog) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.facts = facts
	for _, plan := range facts.Plans() {
		t.plans[plan.ID] = plan
	}
	t.rebuild(slices.Sorted(maps.Keys(t.plans))...)
}

// Plan returns the catalogue's entry of a plan.
func (t *InstanceTypes) Plan(id string) (catalog.Plan, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	plan, ok := t.plans[id]
	return plan, ok
}

// Price returns what a plan costs in the region, or did when it was last on the
// price list.
func (t *InstanceTypes) Price(id string) catalog.Price {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.price(id)
}

func (t *InstanceTypes) price(id string) catalog.Price {
	if price, listed := t.facts.Price(id, t.region); listed {
		return price
	}
	return t.plans[id].Price
}

// Block hides the offering of a plan until the time is over.
func (t *InstanceTypes) Block(plan string, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.blocked[plan] = until
	t.rebuild(plan)
}

// expire makes plans available again whose time is over.
func (t *InstanceTypes) expire(now time.Time) {
	var over []string
	for plan, until := range t.blocked {
		if !now.Before(until) {
			delete(t.blocked, plan)
			over = append(over, plan)
		}
	}
	if len(over) > 0 {
		t.rebuild(over...)
	}
}

// rebuild makes the types of some plans anew where they have changed. Lists
// that were handed out stay as they are.
func (t *InstanceTypes) rebuild(plans ...string) {
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
	next := TypeList{Version: t.now.Version + 1}
	for _, id := range slices.Sorted(maps.Keys(byName)) {
		next.Types, next.hidden = append(next.Types, byName[id]), append(next.hidden, hidden[id])
	}
	t.now = next
}

func (t *InstanceTypes) available(plan string) bool {
	_, blocked := t.blocked[plan]
	return !blocked && t.facts.Sold(plan, t.region, t.tier)
}

func (t *InstanceTypes) build(id string, available bool) *cloudprovider.InstanceType {
	return newInstanceType(t.plans[id], t.resources(id), t.region, t.price(id), available)
}

// Follow says which version of Kubernetes new nodes have.
func (t *InstanceTypes) Follow(version string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.version = minor(version); len(t.seen) > 0 {
		t.rebuild(slices.Collect(maps.Keys(t.plans))...)
	}
}

// Learn takes over what a node of a plan reports of itself under a minor version
// of Kubernetes. Of several nodes the least counts: they differ by a little.
// Devices are left out, because their plugins may not be there.
func (t *InstanceTypes) Learn(plan, version string, reports catalog.NodeResources) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, known := t.plans[plan]
	if !known || reports.Allocatable.MemoryBytes <= 0 || reports.Capacity.MemoryBytes > int64(p.MemoryMiB)<<20 {
		return
	}
	at := sighting{plan, version}
	if before, again := t.seen[at]; again {
		reports = leastOf(before, reports)
	}
	t.seen[at] = reports
	if newer(version, t.version) {
		t.version = version // the cluster was upgraded
		t.rebuild(slices.Collect(maps.Keys(t.plans))...)
		return
	}
	t.rebuild(plan)
}

// resources is what a node of a plan is promised to have: what nodes of the plan
// were seen to have under the version that new nodes get. A plan that was not
// seen, or under other versions only, gets no more than is expected of it.
func (t *InstanceTypes) resources(id string) catalog.NodeResources {
	promise := expected(t.plans[id])
	if seen, ok := t.seen[sighting{id, t.version}]; ok {
		promise.Capacity.MemoryBytes, promise.Allocatable.MemoryBytes = seen.Capacity.MemoryBytes, seen.Allocatable.MemoryBytes
		promise.Capacity.EphemeralBytes, promise.Allocatable.EphemeralBytes = seen.Capacity.EphemeralBytes, seen.Allocatable.EphemeralBytes
		return promise
	}
	for at, seen := range t.seen {
		if at.plan == id {
			promise = leastOf(promise, seen)
		}
	}
	return promise
}

// leastOf is the first with less memory and storage where the second has less.
func leastOf(a, b catalog.NodeResources) catalog.NodeResources {
	for _, pair := range [][2]*catalog.Resources{{&a.Capacity, &b.Capacity}, {&a.Allocatable, &b.Allocatable}} {
		pair[0].MemoryBytes = min(pair[0].MemoryBytes, pair[1].MemoryBytes)
		pair[0].EphemeralBytes = min(pair[0].EphemeralBytes, pair[1].EphemeralBytes)
	}
	return a
}

// sameType reports whether two types of one plan say the same.
func sameType(a, b *cloudprovider.InstanceType) bool {
	return a != nil &&
		a.Offerings[0].Available == b.Offerings[0].Available && a.Offerings[0].Price == b.Offerings[0].Price &&
		equality.Semantic.DeepEqual(a.Capacity, b.Capacity) &&
		equality.Semantic.DeepEqual(a.Overhead.EvictionThreshold, b.Overhead.EvictionThreshold) &&
		a.Requirements.String() == b.Requirements.String()
}

// without returns the list with the types hidden that hide names by
// their place.
func (l TypeList) without(hide func(i int) bool) []*cloudprovider.InstanceType {
	types := slices.Clone(l.Types)
	for i := range types {
		if hide(i) {
			types[i] = l.hidden[i]
		}
	}
	return types
}

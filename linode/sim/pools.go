package sim

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/linode/linodego"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

func (st *state) pool(q *request) *pool {
	if c := st.cluster(q); c != nil {
		return c.pools[q.id("pool")]
	}
	return nil
}

func (st *state) slot(q *request) *slot {
	if c := st.cluster(q); c != nil {
		return c.slot(q.http.PathValue("node"))
	}
	return nil
}

// listPools answers GET /lke/clusters/{cluster}/pools.
func (st *state) listPools(c *cluster, q *request) (any, error) {
	return listPage(q, viewsOf(byID(c.pools), func(p *pool) Pool { return p.view(q.now) }))
}

// getPool answers GET /lke/clusters/{cluster}/pools/{pool}.
func (st *state) getPool(p *pool, q *request) (any, error) { return p.view(q.now), nil }

// createPool answers POST /lke/clusters/{cluster}/pools.
func (st *state) createPool(cl *cluster, q *request) (any, error) {
	var spec poolSpec
	if err := q.read(&spec); err != nil {
		return nil, err
	}
	var c requestChecker
	spec.check(&c, cl, st)
	spec.checkNew(&c, cl, st.cfg)
	if cl.Tier == catalog.Enterprise { // by the API's specification
		c.must(spec.Version != nil, "k8s_version", "k8s_version is required")
		c.must(spec.Strategy != nil, "update_strategy", "update_strategy is required")
	}
	if err := c.error(); err != nil {
		return nil, err
	}
	if err := st.room(cl, *spec.Plan, *spec.Count); err != nil {
		return nil, err
	}
	p := st.addPool(cl, spec)
	st.grow(p, st.faults.clamp(p.plan.ID, cl.Region, *spec.Count), q.now)
	st.agenda.run(q.now)
	return st.firstView(p, q), nil
}

// firstView returns the answer to a creation: the newest node has no instance in it, even if the next call shows
// one; on Enterprise it has no nodes at all. Both were recorded.
func (st *state) firstView(p *pool, q *request) Pool {
	v := p.view(q.now)
	if p.cluster.Tier == catalog.Enterprise {
		v.Nodes = []Node{}
		return v
	}
	last := -1
	for n := range v.Nodes {
		if id := v.Nodes[n].InstanceID; id != nil && (last < 0 || *id > *v.Nodes[last].InstanceID) {
			last = n
		}
	}
	if last >= 0 && !slices.ContainsFunc(v.Nodes, func(n Node) bool { return n.InstanceID == nil }) {
		v.Nodes[last] = Node{ID: v.Nodes[last].ID, Status: "not_ready"}
	}
	return v
}

// addPool creates a pool without nodes from a validated spec.
func (st *state) addPool(cl *cluster, spec poolSpec) *pool {
	plan, _ := st.cfg.Catalog.Plan(*spec.Plan)
	st.lastPool++
	p := &pool{cluster: cl, plan: plan, Pool: Pool{
		ID: st.lastPool, Type: plan.ID, Disks: []linodego.LKENodePoolDisk{}, Labels: map[string]string{}, Taints: []Taint{}, Tags: []string{},
		Autoscaler: linodego.LKENodePoolAutoscaler{Min: *spec.Count, Max: *spec.Count}, DiskEncryption: "enabled", Locks: []string{},
	}}
	if cl.Tier == catalog.Enterprise { // the default of the encryption was recorded, that of the strategy is an assumption
		p.DiskEncryption = "disabled"
		p.EnterpriseFields = &EnterpriseFields{KubernetesVersion: cl.KubernetesVersion, UpdateStrategy: "on_recycle"}
	}
	setIfGiven(&p.Disks, spec.Disks)
	setIfGiven(&p.DiskEncryption, spec.Encryption)
	st.apply(p, spec)
	cl.pools[p.ID] = p
	return p
}

// updatePool answers PUT /lke/clusters/{cluster}/pools/{pool}.
func (st *state) updatePool(p *pool, q *request) (any, error) {
	var spec poolSpec
	if err := q.read(&spec); err != nil {
		return nil, err
	}
	var c requestChecker
	spec.check(&c, p.cluster, st)
	if err := c.error(); err != nil {
		return nil, err
	}
	more := 0
	if spec.Count != nil {
		more = *spec.Count - len(p.slots)
		p.keepCount(st, q)
	}
	if err := st.room(p.cluster, p.plan.ID, more); err != nil {
		return nil, err
	}
	st.apply(p, spec)
	if spec.Autoscaler != nil && st.breaks("put") || spec.Version != nil && st.breaks("version") {
		for _, sl := range slices.Clone(p.slots) {
			st.recycle(sl, q.now)
		}
	}
	if more > 0 {
		st.grow(p, st.faults.clamp(p.plan.ID, p.cluster.Region, more), q.now)
	} else {
		st.shrink(p, -more, q.now)
	}
	st.agenda.run(q.now)
	return p.view(q.now), nil
}

// apply sets the fields of a spec that can be changed. Type, disks and encryption are fixed at creation; a PUT with
// them is accepted without an effect (an assumption).
func (st *state) apply(p *pool, spec poolSpec) {
	setIfGiven(&p.Label, spec.Label)
	if spec.Tags != nil {
		st.retag(p, *spec.Tags)
	}
	if spec.Labels != nil {
		p.oldLabels = p.Labels
		p.Labels = maps.Clone(*spec.Labels)
	}
	if spec.Taints != nil {
		p.Taints = []Taint{}
		for _, t := range *spec.Taints {
			p.Taints = append(p.Taints, Taint{Key: *t.Key, Value: *t.Value, Effect: *t.Effect})
		}
	}
	if a := spec.Autoscaler; a != nil {
		setIfGiven(&p.Autoscaler.Enabled, a.Enabled)
		setIfGiven(&p.Autoscaler.Min, a.Min)
		setIfGiven(&p.Autoscaler.Max, a.Max)
	}
	if spec.Firewall != nil && p.EnterpriseFields == nil && st.breaks("firewall") {
		p.EnterpriseFields = &EnterpriseFields{KubernetesVersion: p.cluster.KubernetesVersion}
	}
	if e := p.EnterpriseFields; e != nil {
		setIfGiven(&e.KubernetesVersion, spec.Version)
		setIfGiven(&e.UpdateStrategy, spec.Strategy)
		if spec.Firewall != nil {
			e.FirewallID = spec.Firewall
		}
	}
}

// room returns an error if the cluster, the account or the region has no room for more nodes. The first is a
// validation error that names the field; the others, as far as observed, name none.
func (st *state) room(cl *cluster, plan string, more int) error {
	if more <= 0 {
		return nil
	}
	if cl.Tier == catalog.Standard && cl.size()+more > maxClusterStandard {
		return refusalError(http.StatusBadRequest, "count", "A cluster cannot have more than 250 nodes") // assumption: the text
	}
	return st.accountRoom(plan, cl.Region, more)
}

// accountRoom returns an error if the account or the region has no room for more Linodes.
func (st *state) accountRoom(plan, region string, more int) error {
	if st.cfg.MaxInstances > 0 && st.slotCount()+len(st.own())+more > st.cfg.MaxInstances {
		return refusalError(http.StatusBadRequest, "", "Account Limit reached. Please open a support ticket.") // observed by users
	}
	return st.faults.refuse(plan, region, more)
}

// removePool answers DELETE /lke/clusters/{cluster}/pools/{pool}.
func (st *state) removePool(p *pool, q *request) (any, error) {
	if len(p.Locks) > 0 {
		return nil, lockedError()
	}
	st.deletePool(p, q.now)
	return struct{}{}, nil
}

// recyclePool answers POST /lke/clusters/{cluster}/pools/{pool}/recycle.
func (st *state) recyclePool(p *pool, q *request) (any, error) {
	for _, sl := range slices.Clone(p.slots) {
		st.recycle(sl, q.now)
	}
	return struct{}{}, nil
}

// getNode answers GET /lke/clusters/{cluster}/nodes/{node}.
func (st *state) getNode(sl *slot, q *request) (any, error) {
	if !sl.isListed(q.now) {
		return nil, notFound()
	}
	return sl.view(q.now), nil
}

// removeNode deletes one node and so lowers the pool's count; the autoscaler's bounds do not change, as recorded.
// The last node can be deleted as well, which leaves an empty pool; this is an assumption.
func (st *state) removeNode(sl *slot, q *request) (any, error) {
	if slices.Contains(sl.pool.Locks, LockWithNodes) {
		return nil, lockedError()
	}
	if sl.instance == nil && st.breaks("null-slot") {
		return nil, refusalError(http.StatusBadRequest, "", "This node has no Linode")
	}
	sl.pool.keepCount(st, q)
	st.remove(sl, q.now)
	if len(sl.pool.slots) == 0 && st.breaks("last") {
		st.addSlot(sl.pool, q.now)
	}
	return struct{}{}, nil
}

// keepCount makes a pool show its old count for a while.
func (p *pool) keepCount(st *state, q *request) {
	if st.breaks("count") {
		p.staleCount, p.staleUntil = len(p.slots), q.now.Add(30*time.Second)
	}
}

// lockedError returns the answer to the deletion of a locked object.
//
// Unverified: its status and text.
func lockedError() *apiError {
	return refusalError(http.StatusBadRequest, "", "This resource is locked and cannot be deleted")
}

// recycleNode answers POST /lke/clusters/{cluster}/nodes/{node}/recycle.
func (st *state) recycleNode(sl *slot, q *request) (any, error) {
	if !st.breaks("recycle") {
		st.recycle(sl, q.now)
	}
	return struct{}{}, nil
}

func setIfGiven[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

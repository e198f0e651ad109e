package sim

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

const (
	// nodeWorkers call the API server at once: a burst of 250 nodes should take as long as its writes do.
	nodeWorkers = 16
	// passGap is the shortest time between two passes, so that a burst of changes needs one pass.
	passGap = 50 * time.Millisecond
	// firstRetry and lastRetry are the limits of the pause after errors of the API server.
	firstRetry = 200 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// RunNodes simulates the programs that create and change Nodes, against an API server, until ctx ends; then it
// returns nil. These are the kubelets of the first cluster's machines, LKE itself, the Linodes outside of LKE
// pools, and the cloud controller manager. They reconcile periodically, and so survive errors, restarts and changes
// by others. KWOK simulates readiness and heartbeats. log may be nil.
//
// The changes of a Node of a pool are in [machine.bare], [machine.enrol] and [machine.complete]. If such a Node is
// deleted while its instance runs, it does not come back, because a kubelet registers only when it starts. After
// booting, the other Linodes join the cluster that their user data names, with the rights of the user data: dial
// creates their clients, and nil creates real ones.
func (s *Simulator) RunNodes(ctx context.Context, c kubernetes.Interface, dial Dial, log *slog.Logger) error {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	group, ctx := errgroup.WithContext(ctx)
	factory := informers.NewSharedInformerFactory(c, 0)
	informer := factory.Core().V1().Nodes()
	lister := informer.Lister()
	if _, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { s.changed() }, UpdateFunc: func(any, any) { s.changed() }, DeleteFunc: func(any) { s.changed() },
	}); err != nil {
		return fmt.Errorf("watch nodes: %w", err)
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	run := func(part string, pass func(context.Context) (time.Time, error)) {
		group.Go(func() error {
			changes, end := s.watch()
			defer end()
			factory.WaitForCacheSync(ctx.Done())
			repeatPasses(ctx, log.With("part", part), changes, pass)
			return nil
		})
	}
	run("nodes", (&nodes{sim: s, client: c, lister: lister, log: log}).pass)
	run("hosts", (&hosts{sim: s, client: c, stopped: map[string]bool{}}).pass)
	machines := &joiners{sim: s, dial: dial, log: log, alive: map[int]*joiner{}}
	defer machines.ended.Wait()
	run("machines", machines.pass)
	run("cloud controller", (&cloudController{sim: s, client: c, lister: lister, log: log}).pass)
	return group.Wait()
}

// repeatPasses calls pass until ctx ends: at the time that it returns (zero means never), and when something has
// changed. After errors it waits longer each time.
func repeatPasses(ctx context.Context, log *slog.Logger, changes <-chan struct{}, pass func(context.Context) (time.Time, error)) {
	var retry time.Duration
	for ctx.Err() == nil {
		next, err := pass(ctx)
		if err == nil {
			retry = 0
		} else if ctx.Err() == nil {
			retry = min(max(2*retry, firstRetry), lastRetry)
			log.Warn("a pass of the simulator failed", "error", err, "retry_in", retry)
			next = time.Now().Add(retry)
		}
		sleepUntil(ctx, next, changes)
	}
}

// nodes updates Node objects to match machines. One goroutine runs passes; in a pass each machine has one worker.
type nodes struct {
	sim    *Simulator
	client kubernetes.Interface
	lister corelisters.NodeLister
	log    *slog.Logger

	nextSync time.Time        // when the labels and taints of pools are restored on all nodes
	imposed  map[int]*desired // what was set on the Node of an instance
}

// pass does what is due and returns when the next change is due. After an error, the next pass repeats everything.
func (n *nodes) pass(ctx context.Context) (next time.Time, err error) {
	now := time.Now()
	machines, next := n.sim.machines(n.sim.first)
	imposed := map[int]*desired{}
	for _, m := range machines {
		imposed[m.ID] = cmp.Or(n.imposed[m.ID], &desired{})
	}
	n.imposed = imposed
	sync := !n.nextSync.After(now)
	if sync {
		n.nextSync = now.Add(n.sim.cfg.PoolSyncPeriod)
	}
	again, err := eachMachine(machines, func(m machine) (time.Time, error) { return n.reconcile(ctx, &m, sync, now) })
	if err != nil {
		n.nextSync = time.Time{}
	}
	return earlierTime(earlierTime(next, n.nextSync), again), err
}

func (n *nodes) objects() typedcorev1.NodeInterface { return n.client.CoreV1().Nodes() }

// sleepUntil waits until a time (zero means never), or until something has changed, but at least passGap.
func sleepUntil(ctx context.Context, until time.Time, changes <-chan struct{}) {
	if until.IsZero() {
		until = time.Now().Add(time.Hour)
	}
	if sleepOrChange(ctx, max(passGap, time.Until(until)), changes) {
		sleepOrChange(ctx, passGap, nil)
	}
}

// sleepOrChange waits for a time, or until something has changed, which it reports, or until ctx ends.
func sleepOrChange(ctx context.Context, wait time.Duration, changes <-chan struct{}) (changed bool) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-changes:
		return true
	}
	return false
}

// eachMachine calls do for all items, some at a time. It returns the earliest time at which one is due again, and the
// first error.
func eachMachine[T any](items []T, do func(T) (time.Time, error)) (again time.Time, err error) {
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(nodeWorkers)
	for _, item := range items {
		group.Go(func() error {
			at, err := do(item)
			mu.Lock()
			defer mu.Unlock()
			again = earlierTime(again, at)
			return err
		})
	}
	err = group.Wait()
	return again, err
}

// earlierTime returns the earlier of two times; zero means never.
func earlierTime(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// machine is the part of an instance that its kubelet and cloud controller need. It is a copy that shares nothing
// with the state.
type machine struct {
	Linode
	pool       int
	tier       catalog.Tier
	memoryKept int
	version    string // of the kubelet
	machineID  string
	joins      time.Time
	registered time.Time // zero if its kubelet has not joined yet
	labels     map[string]string
	taints     []Taint
	breaks     func(assumption string) bool
}

// machines returns the instances of a cluster, or of all clusters for 0, and when the next planned event is due.
func (s *Simulator) machines(cluster int) (all []machine, next time.Time) {
	s.update(func(st *state, now time.Time) {
		for _, i := range byID(st.instances) {
			if i.slot == nil || cluster != 0 && i.slot.pool.cluster.ID != cluster {
				continue
			}
			p := i.slot.pool
			all = append(all, machine{
				Linode: i.Linode, pool: p.ID, tier: p.cluster.Tier, memoryKept: st.cfg.MemoryKept,
				version: kubeletVersion(i.version), machineID: i.machineID, joins: i.joins, registered: i.registered,
				labels: maps.Clone(p.Labels), taints: slices.Clone(p.Taints), breaks: st.breaks,
			})
			if st.breaks("labels") && p.oldLabels != nil && now.Unix()/20%2 == 0 {
				all[len(all)-1].labels = maps.Clone(p.oldLabels)
			}
		}
		next = st.agenda.next()
	})
	return all, next
}

// noteRegistered stores when an instance's kubelet has created its Node.
func (s *Simulator) noteRegistered(instance int, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.state.instances[instance]; i != nil {
		i.registered = at
	}
}

// watch returns a channel that receives after changes, and a function that ends it. The channel has room for one
// message, which is enough.
func (s *Simulator) watch() (chan struct{}, func()) {
	changes := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers = append(s.watchers, changes)
	return changes, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watchers = slices.DeleteFunc(s.watchers, func(other chan<- struct{}) bool { return other == changes })
	}
}

package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

const (
	// nodeWorkers call the API server at once: a burst of 250 nodes should take as long as its writes do.
	nodeWorkers = 16
	// passGap is the least time between two passes, so that a burst of changes is one pass.
	passGap = 50 * time.Millisecond
	// firstRetry and lastRetry bound the wait after an API server gave errors.
	firstRetry = 200 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// RunNodes plays the kubelets that join the first cluster, LKE's own hand in them and the cloud controller manager,
// against an API server, until ctx ends; then it returns nil. It reconciles all machines once a period, and
// so survives errors, restarts and what others do to the nodes. Readiness and heartbeats are KWOK's business. log
// may be nil.
//
// What a node goes through is in [machine.bare], [machine.enrol] and [machine.complete]. A Node that is deleted
// while its instance lives does not come back: a kubelet registers when it starts.
func (s *Simulator) RunNodes(ctx context.Context, c kubernetes.Interface, log *slog.Logger) error {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	n := &nodes{
		sim: s, cluster: s.first, client: c, log: log,
		known: map[int]*memory{}, unowned: map[unownedNode]time.Time{},
	}
	changes, stop := s.watch()
	defer stop()
	for ctx.Err() == nil {
		sleepUntil(ctx, n.pass(ctx), changes)
	}
	return nil
}

// nodes brings Node objects in step with machines. One goroutine makes passes; in a pass each machine has one worker.
type nodes struct {
	sim     *Simulator
	cluster int
	client  kubernetes.Interface
	log     *slog.Logger

	nextSync time.Time                 // when all nodes get the labels and taints of their pools again
	retry    time.Duration             // after errors; 0 after a good pass
	known    map[int]*memory           // by instance
	unowned  map[unownedNode]time.Time // Nodes whose machine is gone, since when
}

// memory is what was done for a machine's Node, so that a pass handles only those that have something due.
type memory struct {
	name, machineID string
	imposed         desired
	edition         int // of imposed; -1: nothing yet
	finished        bool
}

// task is one machine in one pass. If the pass lists all nodes, node is its own, or none.
type task struct {
	machine
	memory *memory
	listed bool
	node   *corev1.Node
}

// pass does what is due and returns when there is something to do again.
func (n *nodes) pass(ctx context.Context) time.Time {
	now := time.Now()
	machines, next := n.sim.machines(n.cluster)
	n.remember(machines, now)
	var objects map[string]*corev1.Node
	if syncing := !n.nextSync.After(now); syncing {
		var err error
		if objects, err = n.list(ctx); err != nil {
			return n.failed(ctx, now, err)
		}
		n.nextSync = now.Add(n.sim.cfg.PoolSyncPeriod)
		n.adopt(objects, machines, now)
	}
	next = earlier(next, n.nextSync)
	var tasks []task
	for _, m := range machines {
		t := task{machine: m, memory: n.known[m.ID], listed: objects != nil, node: objects[m.Label]}
		if at, ever := t.due(); t.listed || (ever && !at.After(now)) {
			tasks = append(tasks, t)
		} else if ever {
			next = earlier(next, at)
		}
	}
	again, err := each(tasks, func(t task) (time.Time, error) { return n.reconcile(ctx, t, now) })
	deleted, deleteErr := n.deleteDue(ctx, now)
	if err = errors.Join(err, deleteErr); err != nil {
		return n.failed(ctx, now, err)
	}
	n.retry = 0
	return earlier(next, earlier(again, deleted))
}

// remember begins a memory for each new machine, and makes an unownedNode of the memory of a machine that is gone.
func (n *nodes) remember(machines []machine, now time.Time) {
	live := map[int]bool{}
	for _, m := range machines {
		live[m.ID] = true
		if n.known[m.ID] == nil {
			n.known[m.ID] = &memory{name: m.Label, machineID: m.machineID, edition: -1}
		}
	}
	for id, mem := range n.known {
		if !live[id] {
			n.unowned[unownedNode{mem.name, mem.machineID}] = now
			delete(n.known, id)
		}
	}
}

func (n *nodes) objects() typedcorev1.NodeInterface { return n.client.CoreV1().Nodes() }

func (n *nodes) list(ctx context.Context) (map[string]*corev1.Node, error) {
	list, err := n.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	objects := map[string]*corev1.Node{}
	for k := range list.Items {
		objects[list.Items[k].Name] = &list.Items[k]
	}
	return objects, nil
}

// failed waits longer each time that a pass does not get through.
func (n *nodes) failed(ctx context.Context, now time.Time, err error) time.Time {
	n.retry = min(max(2*n.retry, firstRetry), lastRetry)
	n.nextSync = time.Time{}
	if ctx.Err() == nil {
		n.log.Warn("playing nodes", "error", err, "retry_in", n.retry)
	}
	return now.Add(n.retry)
}

// sleepUntil waits until then, which zero never comes, or until something changed, and a gap at least.
func sleepUntil(ctx context.Context, until time.Time, changes <-chan struct{}) {
	if until.IsZero() {
		until = time.Now().Add(time.Hour)
	}
	if sleep(ctx, max(passGap, time.Until(until)), changes) {
		sleep(ctx, passGap, nil)
	}
}

// sleep waits that long, or until something changed, which it reports, or ctx ends.
func sleep(ctx context.Context, wait time.Duration, changes <-chan struct{}) (changed bool) {
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

// each does something for all items, some at a time. It returns the earliest time at which one is due
// again, and the first error.
func each[T any](items []T, do func(T) (time.Time, error)) (again time.Time, err error) {
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(nodeWorkers)
	for _, item := range items {
		group.Go(func() error {
			at, err := do(item)
			mu.Lock()
			defer mu.Unlock()
			again = earlier(again, at)
			return err
		})
	}
	err = group.Wait()
	return again, err
}

// earlier is the earlier of two times, of which zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// machine is what those who play its kubelet and cloud controller need to know of an instance. It shares nothing with
// the state that changes.
type machine struct {
	Linode
	pool       int
	tier       catalog.Tier
	memoryKept int
	version    string // of the kubelet
	machineID  string
	joins      time.Time
	registered time.Time // zero: its kubelet has not joined yet
	labels     map[string]string
	taints     []Taint
	edition    int
}

// machines returns the instances of a cluster, and when the next of what the account has planned is due.
func (s *Simulator) machines(cluster int) (all []machine, next time.Time) {
	s.update(func(st *state, _ time.Time) {
		for _, i := range byID(st.instances) {
			if i.slot == nil || i.slot.pool.cluster.ID != cluster {
				continue
			}
			p := i.slot.pool
			all = append(all, machine{
				Linode: i.Linode, pool: p.ID, tier: p.cluster.Tier, memoryKept: st.cfg.MemoryKept,
				version: kubeletVersion(i.version), machineID: i.machineID, joins: i.joins, registered: i.registered,
				labels: maps.Clone(p.Labels), taints: slices.Clone(p.Taints), edition: p.edition,
			})
		}
		next = st.agenda.next()
	})
	return all, next
}

// noteRegistered remembers that an instance's kubelet made its Node.
func (s *Simulator) noteRegistered(instance int, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.state.instances[instance]; i != nil {
		i.registered = at
	}
}

// watch returns a channel that gets a message when something changed, and what ends it. It has room for one, which says
// as much as several.
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

// unownedNode is the Node of a machine that is gone. Another machine may have its name by now.
type unownedNode struct{ name, machineID string }

// adopt finds the Nodes of this cluster whose machine is not there and was never seen, as after a restart.
func (n *nodes) adopt(objects map[string]*corev1.Node, machines []machine, now time.Time) {
	alive := map[string]machine{}
	for _, m := range machines {
		alive[m.Label] = m
	}
	for name, node := range objects {
		if m, ok := alive[name]; (ok && m.owns(node)) || !n.ours(name) {
			continue
		}
		key := unownedNode{name, node.Status.NodeInfo.SystemUUID}
		if _, known := n.unowned[key]; !known {
			n.unowned[key] = now
		}
	}
}

// ours holds for the names that LKE gives to the nodes of this cluster.
func (n *nodes) ours(name string) bool {
	return strings.HasPrefix(name, fmt.Sprintf("lke%d-", n.cluster))
}

// deleteDue deletes the unowned Nodes that are due, as the cloud controller's node lifecycle does. (The real
// one waits for the Node to be not ready first; here it is the configured delay.) It returns when the next
// one is due.
func (n *nodes) deleteDue(ctx context.Context, now time.Time) (next time.Time, err error) {
	var due []unownedNode
	for key, since := range n.unowned {
		if at := since.Add(n.sim.cfg.NodeGoneDelay); at.After(now) {
			next = earlier(next, at)
		} else {
			due = append(due, key)
		}
	}
	_, err = each(due, func(key unownedNode) (time.Time, error) { return time.Time{}, n.delete(ctx, key) })
	if err != nil {
		return next, err // all of them again; who is gone is found gone
	}
	for _, key := range due {
		delete(n.unowned, key)
	}
	return next, nil
}

// delete removes exactly that Node, not one that has come to its name since. One that is being deleted already, and
// waits for a finalizer, is left to them.
func (n *nodes) delete(ctx context.Context, key unownedNode) error {
	node, err := getNode(ctx, n.objects(), key.name)
	if err != nil {
		return fmt.Errorf("node %s: %w", key.name, err)
	}
	if node == nil || node.Status.NodeInfo.SystemUUID != key.machineID || node.DeletionTimestamp != nil {
		return nil
	}
	return deleteNode(ctx, n.objects(), node, n.log)
}

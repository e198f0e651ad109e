package lkesim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	// nodeWorkers call the API server at once: a burst of 250 nodes should take as long as its writes do.
	nodeWorkers = 16
	// passGap is the least time between two looks at the cluster, so that a burst of changes is one look.
	passGap = 50 * time.Millisecond
	// firstRetry and lastRetry bound the wait after an API server gave errors.
	firstRetry = 200 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// RunNodes plays the kubelets that join the first cluster, LKE's own hand in them and the cloud controller manager,
// against an API server, until ctx ends; then it returns nil. It lists and compares, and so survives errors, restarts
// and whatever others do to the nodes. Readiness and heartbeats are KWOK's business. log may be nil.
//
// What a node goes through is in [machine.bare], [machine.enrol] and [machine.complete]. A Node that somebody deletes
// while its instance lives does not come back: a kubelet registers when it starts.
func (s *Simulator) RunNodes(ctx context.Context, c kubernetes.Interface, log *slog.Logger) error {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	n := &nodes{
		sim: s, cluster: s.first, client: c, log: log,
		imposed: map[int]imposed{}, orphaned: map[string]time.Time{},
	}
	changes, stop := s.watch()
	defer stop()
	for ctx.Err() == nil {
		n.sleep(ctx, n.pass(ctx), changes)
	}
	return nil
}

// nodes compares machines with Node objects. Only one goroutine runs passes; workers share what mu guards.
type nodes struct {
	sim     *Simulator
	cluster int
	client  kubernetes.Interface
	log     *slog.Logger

	nextSync time.Time            // when pools are imposed again on all nodes
	retry    time.Duration        // after errors; 0 after a good pass
	orphaned map[string]time.Time // Nodes without a machine, since when

	mu      sync.Mutex
	imposed map[int]imposed // by instance
}

// imposed is what was last put on a node for its pool.
type imposed struct {
	desired
	edition int
}

// pass brings all nodes up to date and returns when there is something to do again.
func (n *nodes) pass(ctx context.Context) time.Time {
	now := time.Now()
	machines, next := n.sim.machines(n.cluster)
	if next.IsZero() {
		next = now.Add(time.Hour)
	}
	list, err := n.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return n.failed(ctx, now, fmt.Errorf("list nodes: %w", err))
	}
	syncing := !n.nextSync.After(now)
	if syncing {
		n.nextSync = now.Add(n.sim.cfg.PoolSyncPeriod)
	}
	objects := map[string]*corev1.Node{}
	for k := range list.Items {
		objects[list.Items[k].Name] = &list.Items[k]
	}
	next = earlier(next, n.nextSync)
	again, err := each(machines, func(m machine) (time.Time, error) {
		return n.tend(ctx, m, objects[m.name], syncing, now)
	})
	n.forget(machines)
	orphans := n.orphans(machines, objects, now)
	buried, buryErr := each(orphans, func(node *corev1.Node) (time.Time, error) { return n.bury(ctx, node, now) })
	if err = errors.Join(err, buryErr); err != nil {
		return n.failed(ctx, now, err)
	}
	n.retry = 0
	return earlier(next, earlier(again, buried))
}

// failed waits longer each time that a pass does not get through.
func (n *nodes) failed(ctx context.Context, now time.Time, err error) time.Time {
	n.retry = min(max(2*n.retry, firstRetry), lastRetry)
	if ctx.Err() == nil {
		n.log.Warn("playing nodes", "error", err, "retry_in", n.retry)
	}
	return now.Add(n.retry)
}

func (n *nodes) sleep(ctx context.Context, until time.Time, changes <-chan struct{}) {
	wait := time.NewTimer(max(passGap, time.Until(until)))
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return
	case <-wait.C:
		return
	case <-changes:
	}
	gap := time.NewTimer(passGap)
	defer gap.Stop()
	select {
	case <-ctx.Done():
	case <-gap.C:
	}
}

// each does something for all items, some at a time. It returns the earliest time at which one wants to be looked after
// again, and the first error.
func each[T any](items []T, do func(T) (time.Time, error)) (again time.Time, firstErr error) {
	var mu sync.Mutex
	var group sync.WaitGroup
	work := make(chan T)
	for range min(nodeWorkers, len(items)) {
		group.Go(func() {
			for item := range work {
				at, err := do(item)
				mu.Lock()
				again = earlier(again, at)
				if firstErr == nil {
					firstErr = err
				}
				mu.Unlock()
			}
		})
	}
	for _, item := range items {
		work <- item
	}
	close(work)
	group.Wait()
	return again, firstErr
}

// forget drops what was remembered of instances that are gone.
func (n *nodes) forget(machines []machine) {
	live := map[int]bool{}
	for _, m := range machines {
		live[m.instance] = true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for id := range n.imposed {
		if !live[id] {
			delete(n.imposed, id)
		}
	}
}

// orphans are the Nodes of this cluster whose machine is gone and that nobody has deleted yet. It keeps count of since
// when.
func (n *nodes) orphans(machines []machine, objects map[string]*corev1.Node, now time.Time) []*corev1.Node {
	alive := map[string]machine{}
	for _, m := range machines {
		alive[m.name] = m
	}
	var all []*corev1.Node
	since := map[string]time.Time{}
	for name, node := range objects {
		if m, ok := alive[name]; (ok && m.owns(node)) || !n.ours(name) || node.DeletionTimestamp != nil {
			continue
		}
		since[name] = now
		if known, ok := n.orphaned[name]; ok {
			since[name] = known
		}
		all = append(all, node)
	}
	n.orphaned = since
	return all
}

// bury deletes an orphan when its time has come, as the cloud controller's node lifecycle does. (The real one waits for
// the Node to be not ready first; here it is the configured delay.)
func (n *nodes) bury(ctx context.Context, node *corev1.Node, now time.Time) (time.Time, error) {
	if due := n.orphaned[node.Name].Add(n.sim.cfg.NodeGoneDelay); due.After(now) {
		return due, nil
	}
	return time.Time{}, n.delete(ctx, node)
}

// ours holds for the names that LKE gives to the nodes of this cluster.
func (n *nodes) ours(name string) bool {
	return strings.HasPrefix(name, fmt.Sprintf("lke%d-", n.cluster))
}

// earlier is the earlier of two times, of which zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

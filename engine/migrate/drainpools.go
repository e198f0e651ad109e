package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/linode/api"
)

// DrainCluster is the cluster whose pods move; kube.Cluster is one.
type DrainCluster interface {
	cluster.Lister
	Merge(ctx context.Context, obj, change map[string]any, manager string) error
	// Evict ends a pod as its budgets allow. refused says why it may not go now.
	Evict(ctx context.Context, pod map[string]any) (refused string, err error)
}

// LKE keeps the LKE pools; api.Client does.
type LKE interface {
	Pools(ctx context.Context, cluster int) ([]api.Pool, error)
	ChangePool(ctx context.Context, cluster, pool int, change api.PoolChange) error
	DeletePool(ctx context.Context, cluster, pool int) error
}

// PoolDrain moves pods from the nodes of LKE pools that others keep to nodes that Karpenter makes, and deletes each LKE
// pool when it is empty.
//
// Pods go by eviction, so that PodDisruptionBudgets hold, one node after the other. If a pod cannot go, or does not run
// elsewhere, it stops with that pod: what is left runs where it did. It makes no node: the controller does.
type PoolDrain struct {
	Cluster   DrainCluster
	LKE       LKE
	ClusterID int // of the LKE cluster

	// Timeout is how long the pods of one node may take to go, and to run elsewhere, and how
	// long an API may fail.
	Timeout time.Duration
	// Unmanaged lets pods go as well that would not be recreated.
	Unmanaged bool
	// Report is told what was done.
	Report func(Step)
}

// Step is something that was done to an object or an LKE pool, or what is waited for.
type Step struct{ Kind, Name, What string }

// ErrDrainStopped tells that pods could not move. Nodes of the LKE pool are cordoned, and run
// what they have left; the same move goes on from there.
var ErrDrainStopped = errors.New("the move has stopped")

// drainer owns the fields that are changed here.
const drainer = "lkeplan-adopt"

// poll is how often pods are listed while they move.
const poll = 2 * time.Second

// Hold turns the autoscalers of LKE pools off. It comes before the first of them is moved: the
// autoscaler of another one would make nodes there for the pods that wait.
func (m PoolDrain) Hold(ctx context.Context, pools []api.Pool) error {
	for _, p := range pools {
		if err := (&drainRun{PoolDrain: m, id: p.ID}).hold(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Pool moves the pods of one LKE pool, and deletes the LKE pool when none is left. Its
// autoscaler is turned off first. After any error the same move goes on from where it was.
func (m PoolDrain) Pool(ctx context.Context, p api.Pool) error {
	l := &drainRun{PoolDrain: m, id: p.ID, moved: ledger{}}
	if err := l.clear(ctx); err != nil {
		return err
	}
	return l.remove(ctx)
}

// drainRun is the move of one LKE pool.
type drainRun struct {
	PoolDrain
	id    int // of the LKE pool
	moved ledger
}

func (l *drainRun) name() string { return strconv.Itoa(l.id) }

// clear returns when no node of the LKE pool has pods to move, and all that were moved run.
func (l *drainRun) clear(ctx context.Context) error {
	for {
		if err := l.hold(ctx); err != nil {
			return err
		}
		at, err := l.await(ctx, "")
		if err != nil {
			return err
		}
		node := at.occupied()
		if node == "" {
			return nil
		}
		for node != "" {
			if at, err = l.await(ctx, node); err != nil {
				return err
			}
			l.Report(Step{"Node", node, "is empty"})
			node = at.occupied()
		}
	}
}

// hold turns the autoscaler of the LKE pool off, which may have been turned on since.
func (l *drainRun) hold(ctx context.Context) error {
	return l.retry(ctx, "", func() ([]string, error) {
		pools, err := l.LKE.Pools(ctx, l.ClusterID)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(pools, func(p api.Pool) bool { return p.ID == l.id })
		if at < 0 || !pools[at].Autoscaler.Enabled {
			return nil, nil
		}
		off := pools[at].Autoscaler
		off.Enabled = false
		if err := l.LKE.ChangePool(ctx, l.ClusterID, l.id, api.PoolChange{Autoscaler: &off}); err != nil {
			return nil, err
		}
		l.Report(Step{"LKE pool", l.name(), fmt.Sprintf("its autoscaler, %d to %d, is off", off.Min, off.Max)})
		return nil, nil
	})
}

// await evicts the pods of a node, "" for none, and returns what it saw when the node has
// none left and all that were moved run elsewhere. It looks twice: a pod may have been on
// its way to the node, or not been made again yet.
func (l *drainRun) await(ctx context.Context, node string) (at drainState, err error) {
	calm := false
	err = l.retry(ctx, node, func() (why []string, err error) {
		was := calm
		calm = false
		if at, err = l.look(ctx); err != nil {
			return nil, err
		}
		left := cluster.PodsToMove(at.pods, node)
		if err := l.note(ctx, at, node, left); err != nil {
			return nil, err
		}
		if why, err = l.evict(ctx, at, left); err != nil {
			return nil, err
		}
		why = append(why, l.moved.missing(at)...)
		calm = len(why)+len(left) == 0 && !at.fresh
		if len(why) == 0 && !(calm && was) {
			why = []string{soon}
		}
		return why, nil
	})
	return at, err
}

// evict asks for the eviction of pods that are not going yet, and returns why each is still
// there that may not go, or does not end. An error ends no other eviction.
func (l *drainRun) evict(ctx context.Context, at drainState, pods []*corev1.Pod) (held []string, err error) {
	var errs []error
	for _, pod := range pods {
		why := protected(pod)
		switch {
		case !pod.DeletionTimestamp.IsZero():
			why = at.endless(pod)
		case why == "":
			var err error
			if why, err = l.Cluster.Evict(ctx, reference(pod)); err != nil {
				errs = append(errs, err)
			}
		}
		if why != "" {
			held = append(held, fmt.Sprintf("%s: %s", keyOf(pod), why))
		}
	}
	return held, errors.Join(errs...)
}

// protected says by which annotation a pod asks to be left alone; "" if by none.
func protected(pod *corev1.Pod) string {
	for _, is := range []struct{ key, value string }{
		{karpv1.DoNotDisruptAnnotationKey, "true"}, {"cluster-autoscaler.kubernetes.io/safe-to-evict", "false"},
	} {
		if pod.Annotations[is.key] == is.value {
			return fmt.Sprintf("its annotation %s is %s; when it may go, delete it, or the annotation", is.key, is.value)
		}
	}
	return ""
}

// again is how many polls pass before LKE is asked once more to delete an LKE pool.
const again = 5

// remove deletes the LKE pool, and returns when LKE lists it no more.
func (l *drainRun) remove(ctx context.Context) error {
	tries := 0
	err := l.retry(ctx, "", func() ([]string, error) {
		if tries++; tries%again == 1 {
			if err := l.LKE.DeletePool(ctx, l.ClusterID, l.id); err != nil {
				tries = 0
				return nil, err
			}
		}
		pools, err := l.LKE.Pools(ctx, l.ClusterID)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(pools, func(p api.Pool) bool { return p.ID == l.id }) {
			return []string{"LKE pool is empty and its deletion was requested, but LKE still lists it"}, nil
		}
		return nil, nil
	})
	if err == nil {
		l.Report(Step{"LKE pool", l.name(), "is deleted"})
	}
	return err
}

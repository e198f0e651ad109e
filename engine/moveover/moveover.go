// Package moveover moves pods from the nodes of LKE pools that somebody else keeps to nodes
// that Karpenter makes, and deletes each LKE pool when it is empty.
//
// Pods go by eviction, so that PodDisruptionBudgets hold, one node after the other. Where a
// pod cannot go, or does not run elsewhere, it stops and says so: what is left runs where
// it did. It knows no configuration, and makes no node: the controller does.
package moveover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/lkeplan/lkeplan/linode/api"
)

// Cluster is the cluster whose pods move; kube.Cluster is one.
type Cluster interface {
	List(ctx context.Context, apiVersion, kind string) ([]map[string]any, error)
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

// Move moves pods away from LKE pools.
type Move struct {
	Cluster   Cluster
	LKE       LKE
	ClusterID int // of the LKE cluster

	// Patience is how long the pods of one node may take to go, and to run elsewhere, and how
	// long an API may fail.
	Patience time.Duration
	// Unmanaged has pods go as well that nobody makes again.
	Unmanaged bool
	// Report is told what was done.
	Report func(Step)
}

// Step is something that was done to a Node or an LKE pool, or what it waits for.
type Step struct{ Kind, Name, What string }

// ErrStopped tells that pods could not move. Nodes of the LKE pool are cordoned, and run
// what they have left; the same move goes on from there.
var ErrStopped = errors.New("the move has stopped")

// manager owns the fields that are changed here.
const manager = "lkeplan-adopt"

// poll is how often pods are listed while they move.
const poll = 2 * time.Second

// Hold turns the autoscalers of LKE pools off. It comes before the first of them is moved: the
// autoscaler of another one would make nodes there for the pods that wait.
func (m Move) Hold(ctx context.Context, pools []api.Pool) error {
	for _, p := range pools {
		if err := (&leaving{Move: m, id: p.ID}).hold(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Pool moves the pods of one LKE pool, and deletes the LKE pool when none is left. Its
// autoscaler is turned off first. After any error the same move goes on from where it was.
func (m Move) Pool(ctx context.Context, p api.Pool) error {
	l := &leaving{Move: m, id: p.ID, moved: ledger{}}
	if err := l.clear(ctx); err != nil {
		return err
	}
	return l.remove(ctx)
}

// leaving is the move of one LKE pool.
type leaving struct {
	Move
	id    int // of the LKE pool
	moved ledger
}

func (l *leaving) name() string { return strconv.Itoa(l.id) }

// clear returns when no node of the LKE pool has pods to move, and all that were moved run.
func (l *leaving) clear(ctx context.Context) error {
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

// hold turns the autoscaler of the LKE pool off, which somebody may have turned on since.
func (l *leaving) hold(ctx context.Context) error {
	return l.patiently(ctx, "", func() ([]string, error) {
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
func (l *leaving) await(ctx context.Context, node string) (at scene, err error) {
	calm := false
	err = l.patiently(ctx, node, func() (why []string, err error) {
		was := calm
		calm = false
		if at, err = l.look(ctx); err != nil {
			return nil, err
		}
		left := at.movable(node)
		if err := l.note(ctx, at, node, left); err != nil {
			return nil, err
		}
		if why, err = l.evict(ctx, at, left); err != nil {
			return nil, err
		}
		why = append(why, l.moved.unsettled(at)...)
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
func (l *leaving) evict(ctx context.Context, at scene, pods []map[string]any) (held []string, err error) {
	var errs []error
	for _, pod := range pods {
		why := protected(pod)
		switch {
		case deleted(pod):
			why = at.endless(pod)
		case why == "":
			var err error
			if why, err = l.Cluster.Evict(ctx, pod); err != nil {
				errs = append(errs, err)
			}
		}
		if why != "" {
			held = append(held, fmt.Sprintf("%s: %s", nameOf(pod), why))
		}
	}
	return held, errors.Join(errs...)
}

// again is how many polls pass before LKE is asked once more to delete an LKE pool.
const again = 5

// remove deletes the LKE pool, and returns when LKE lists it no more.
func (l *leaving) remove(ctx context.Context) error {
	tries := 0
	err := l.patiently(ctx, "", func() ([]string, error) {
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
			return []string{"no pod is left on it, and LKE was asked to delete it, but has it still"}, nil
		}
		return nil, nil
	})
	if err == nil {
		l.Report(Step{"LKE pool", l.name(), "is deleted"})
	}
	return err
}

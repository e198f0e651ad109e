// Package moveover moves pods from the nodes of LKE pools that somebody else keeps to nodes
// that Karpenter makes, and deletes each LKE pool when it is empty.
//
// Pods go by eviction, so that PodDisruptionBudgets hold, one node after the other. Where a
// pod cannot go, or finds no room elsewhere, it stops and says so: what is left runs where
// it did. It knows no configuration, and makes no node: the controller does.
package moveover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/linode/lkeapi"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Cluster is the cluster whose pods move; kube.Cluster is one.
type Cluster interface {
	List(ctx context.Context, apiVersion, kind string) ([]map[string]any, error)
	Merge(ctx context.Context, obj, change map[string]any, manager string) error
	// Evict ends a pod as its budgets allow. refused says why none of them does now.
	Evict(ctx context.Context, pod map[string]any) (refused string, err error)
}

// LKE keeps the LKE pools; lkeapi.Client does.
type LKE interface {
	ChangePool(ctx context.Context, cluster, pool int, change lkeapi.PoolChange) error
	DeletePool(ctx context.Context, cluster, pool int) error
}

// Move moves pods away from LKE pools.
type Move struct {
	Cluster   Cluster
	LKE       LKE
	ClusterID int // of the LKE cluster

	// Patience is how long the pods of one node may take to go, and to run elsewhere.
	Patience time.Duration
	// Unmanaged has pods go as well that nobody makes again.
	Unmanaged bool
	// Report is told what was done.
	Report func(Step)
}

// Step is something that was done to a Node or an LKE pool.
type Step struct{ Kind, Name, What string }

// ErrStopped tells that pods could not move. Nodes of the LKE pool are cordoned, and run
// what they have left; the same move goes on from there.
var ErrStopped = errors.New("the move has stopped")

// manager owns the fields that are changed here.
const manager = "lkeplan-adopt"

// poolLabel is LKE's own, on each of its nodes.
const poolLabel = "lke.linode.com/pool-id"

// poll is how often pods are listed while they move.
const poll = 2 * time.Second

// Check returns what speaks against a move, before anything is changed: an LKE pool whose
// nodes this cluster does not have, one that the controller runs on, pods that nobody would
// make again.
func (m Move) Check(ctx context.Context, pools []lkeapi.Pool) error {
	nodes, err := m.Cluster.List(ctx, "v1", "Node")
	if err != nil {
		return err
	}
	pods, err := m.Cluster.List(ctx, "v1", "Pod")
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range pools {
		of := nodesOf(nodes, p.ID)
		if len(of) == 0 && p.Count > 0 {
			errs = append(errs, fmt.Errorf("this cluster has no node of LKE pool %d: its nodes have not joined, or the "+
				"kubeconfig is another cluster's", p.ID))
		}
		for _, node := range of {
			errs = append(errs, m.objections(p.ID, movable(pods, manifest.Name(node)))...)
		}
	}
	return errors.Join(errs...)
}

func (m Move) objections(pool int, pods []map[string]any) (errs []error) {
	for _, pod := range pods {
		switch {
		case manifest.Label(pod, "app.kubernetes.io/part-of") == "lkeplan":
			errs = append(errs, fmt.Errorf("the controller, %s, runs on LKE pool %d, and cannot run on nodes that it "+
				"makes itself: leave this LKE pool", nameOf(pod), pool))
		case !m.Unmanaged && !managed(pod):
			errs = append(errs, fmt.Errorf("nobody would make the pod %s again, which runs on LKE pool %d: delete it, or "+
				"say that it may go", nameOf(pod), pool))
		}
	}
	return errs
}

// Pool moves the pods of one LKE pool, and deletes the LKE pool when none is left. Its
// autoscaler is turned off first.
func (m Move) Pool(ctx context.Context, p lkeapi.Pool) error {
	name := strconv.Itoa(p.ID)
	if p.Autoscaler.Enabled {
		off := lkeapi.Autoscaler{Min: p.Autoscaler.Min, Max: p.Autoscaler.Max}
		if err := m.LKE.ChangePool(ctx, m.ClusterID, p.ID, lkeapi.PoolChange{Autoscaler: &off}); err != nil {
			return err
		}
		m.Report(Step{"LKE pool", name, fmt.Sprintf("its autoscaler, %d to %d, is off", off.Min, off.Max)})
	}
	before, err := m.waiting(ctx)
	if err != nil {
		return err
	}
	for {
		node, err := m.next(ctx, p.ID)
		if err != nil {
			return err
		}
		if node == "" {
			break
		}
		if err := m.empty(ctx, node, before); err != nil {
			return err
		}
		m.Report(Step{"Node", node, "is empty"})
	}
	if err := m.LKE.DeletePool(ctx, m.ClusterID, p.ID); err != nil {
		return err
	}
	m.Report(Step{"LKE pool", name, "is deleted"})
	return nil
}

// next cordons the nodes of an LKE pool, and returns one that has pods to move; "" where
// none has.
func (m Move) next(ctx context.Context, pool int) (name string, err error) {
	nodes, err := m.Cluster.List(ctx, "v1", "Node")
	if err != nil {
		return "", err
	}
	of := nodesOf(nodes, pool)
	for _, node := range of {
		if cordoned, _ := manifest.Lookup(node, "spec", "unschedulable"); cordoned == true {
			continue
		}
		change := map[string]any{"spec": map[string]any{"unschedulable": true}}
		if err := m.Cluster.Merge(ctx, node, change, manager); err != nil {
			return "", err
		}
		m.Report(Step{"Node", manifest.Name(node), "is cordoned"})
	}
	pods, err := m.Cluster.List(ctx, "v1", "Pod")
	if err != nil {
		return "", err
	}
	for _, node := range of {
		if len(movable(pods, manifest.Name(node))) > 0 {
			return manifest.Name(node), nil
		}
	}
	return "", nil
}

// empty evicts the pods of a node, and returns when they are gone and no pod waits for room
// that did not wait before.
func (m Move) empty(ctx context.Context, node string, before map[string]bool) error {
	patience := time.NewTimer(m.Patience)
	defer patience.Stop()
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		pods, err := m.Cluster.List(ctx, "v1", "Pod")
		if err != nil {
			return err
		}
		left := movable(pods, node)
		held, err := m.evict(ctx, left)
		if err != nil {
			return err
		}
		homeless := slices.DeleteFunc(unplaced(pods), func(pod map[string]any) bool { return before[manifest.UID(pod)] })
		if len(left)+len(homeless) == 0 {
			return nil
		}
		select {
		case <-ticker.C:
		case <-patience.C:
			return stopped(node, held, left, homeless)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// evict asks for the eviction of all pods that are not going yet, and returns what holds
// some of them.
func (m Move) evict(ctx context.Context, pods []map[string]any) (held []string, err error) {
	for _, pod := range pods {
		if manifest.Deleted(pod) {
			continue
		}
		refused, err := m.Cluster.Evict(ctx, pod)
		if err != nil {
			return nil, err
		}
		if refused != "" {
			held = append(held, fmt.Sprintf("%s: %s", nameOf(pod), refused))
		}
	}
	return held, nil
}

// stopped says what a node still has, or which pods found no room.
func stopped(node string, held []string, left, homeless []map[string]any) error {
	why := held
	if len(why) == 0 {
		for _, pod := range left {
			why = append(why, nameOf(pod)+" does not end")
		}
	}
	for _, pod := range homeless {
		why = append(why, nameOf(pod)+" finds no room on another node")
	}
	const most = 5
	if more := len(why) - most; more > 0 {
		why = append(why[:most], fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("%w at node %s:\n  %s", ErrStopped, node, strings.Join(why, "\n  "))
}

// waiting are the UIDs of pods that have no node.
func (m Move) waiting(ctx context.Context) (map[string]bool, error) {
	pods, err := m.Cluster.List(ctx, "v1", "Pod")
	if err != nil {
		return nil, err
	}
	uids := map[string]bool{}
	for _, pod := range unplaced(pods) {
		uids[manifest.UID(pod)] = true
	}
	return uids, nil
}

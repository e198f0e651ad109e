package migrate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/object"
	"github.com/lkeplan/lkeplan/kube"
)

// UninstallByDrain has the running controller drain and delete all nodes, and deletes what makes
// nodes. It returns when nothing is left; where ctx ends first, the controller goes on,
// and so does another Drain.
//
// NodePlans are suspended before pools are deleted, as they would make them again. A pool
// that comes back all the same is an error: something else applies it.
func UninstallByDrain(ctx context.Context, in UninstallCluster, report func(Step)) error {
	h, err := ReadHoldings(ctx, in)
	if err != nil {
		return err
	}
	for _, np := range h.NodePlans {
		if err := in.Merge(ctx, reference(np), map[string]any{"spec": map[string]any{"suspend": true}}, uninstaller); err != nil {
			return err
		}
		report(stepOf(np, "suspended"))
	}
	for _, pool := range h.Pools {
		if err := in.Delete(ctx, reference(pool)); err != nil {
			return err
		}
		report(stepOf(pool, "deleted, and its nodes give up their pods"))
	}
	if err := gone(ctx, in, h.Pools, report); err != nil {
		return err
	}
	for _, obj := range slices.Concat(asObjects(h.NodePlans), asObjects(h.Classes)) {
		if err := in.Delete(ctx, reference(obj)); err != nil {
			return err
		}
		// Nothing is left that its finalizer could wait for, whichever process would take it off.
		live, err := in.Get(ctx, reference(obj))
		if err != nil {
			return err
		}
		if live != nil {
			left, err := object.As[metav1.PartialObjectMetadata](live)
			if err != nil {
				return err
			}
			if err := release(ctx, in, left); err != nil {
				return err
			}
		}
		report(stepOf(obj, "deleted"))
	}
	return nil
}

func stepOf(obj client.Object, what string) Step {
	return Step{obj.GetObjectKind().GroupVersionKind().Kind, keyOf(obj), what}
}

// pollNodes is how often it is looked how many nodes are left.
const pollNodes = 2 * time.Second

// gone deletes all NodeClaims, and returns when they and their Nodes are gone. It reports
// how many nodes are left.
func gone(ctx context.Context, in UninstallCluster, pools []*karpv1.NodePool, report func(Step)) error {
	reported := map[string]int{}
	ticker := time.NewTicker(pollNodes)
	defer ticker.Stop()
	for {
		left, err := going(ctx, in, pools)
		if kube.IsNoResponse(err) {
			left = reported // and looked at again
		} else if err != nil {
			return err
		}
		for _, pool := range slices.Sorted(maps.Keys(left)) {
			if left[pool] != reported[pool] {
				report(Step{"NodePool", pool, "nodes left: " + strconv.Itoa(left[pool])})
			}
		}
		for _, pool := range slices.Sorted(maps.Keys(reported)) {
			if left[pool] == 0 {
				report(Step{"NodePool", pool, "its nodes are gone"})
			}
		}
		reported = left
		if len(left) == 0 && err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return unfinished(left, context.Cause(ctx))
		}
	}
}

// going has all NodeClaims deleted, and counts the nodes that are left.
func going(ctx context.Context, in UninstallCluster, pools []*karpv1.NodePool) (left map[string]int, err error) {
	h, err := ReadHoldings(ctx, in)
	if err != nil {
		return nil, err
	}
	if back := newcomer(h.Pools, pools); back != nil {
		return nil, fmt.Errorf("NodePool %s has been made again: have Flux, Argo CD or whoever applies it stop, and run "+
			"this again", back.Name)
	}
	for _, claim := range h.Claims {
		if claim.DeletionTimestamp.IsZero() {
			if err := in.Delete(ctx, reference(claim)); err != nil {
				return nil, err
			}
		}
	}
	return remaining(h), nil
}

// newcomer returns a pool that is none of the others; nil if all are.
func newcomer(pools, others []*karpv1.NodePool) *karpv1.NodePool {
	for _, pool := range pools {
		if !slices.ContainsFunc(others, func(o *karpv1.NodePool) bool { return o.UID == pool.UID }) {
			return pool
		}
	}
	return nil
}

// remaining counts nodes by pool: those with a NodeClaim, and those without that have a
// finalizer of Karpenter's.
func remaining(h Holdings) map[string]int {
	left, counted := map[string]int{}, map[string]bool{}
	for _, claim := range h.Claims {
		left[poolOf(claim)]++
		counted[claim.Status.NodeName] = true
	}
	for _, n := range h.Nodes {
		if !counted[n.Name] && len(releasedFrom(n)) > 0 {
			left[poolOf(n)]++
		}
	}
	return left
}

// ErrUnfinished tells that time was up before all nodes were gone.
var ErrUnfinished = errors.New("nodes are left; the controller goes on with them")

func unfinished(left map[string]int, cause error) error {
	errs := []error{ErrUnfinished}
	for _, pool := range slices.Sorted(maps.Keys(left)) {
		errs = append(errs, fmt.Errorf("NodePool %s: nodes left: %d", pool, left[pool]))
	}
	if errors.Is(cause, context.Canceled) {
		cause = errors.New("interrupted")
	}
	return errors.Join(append(errs, cause)...)
}

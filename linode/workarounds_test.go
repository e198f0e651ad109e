package linode

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/lkeapi"
	"github.com/lkeplan/lkeplan/schemas/v1alpha1"
)

// This file holds what the provider does, or is, because of bugs of Karpenter
// v1.14.1 that v1.14.3 mends. The fifth is seedSweeper's, in engine.

// TestAStaticPoolIsRefusedSlowly: where the last NodeClaim of a static NodePool
// goes while others are being made, the core ends with a nil dereference.
func TestAStaticPoolIsRefusedSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, static := range []bool{false, true} {
			pool := nodePool()
			if static {
				pool.Spec.Replicas = new(int64(3))
			}
			p := provider(t, readyClass(), pool, capped("none", nodes(0)), numbered(1))
			start := time.Now()
			if _, err := p.Create(t.Context(), numbered(1)); !cloudprovider.IsInsufficientCapacityError(err) {
				t.Fatal(err)
			}
			if took := time.Since(start); (took >= time.Second) != static {
				t.Errorf("static %v: refused after %s", static, took)
			}
		}
	})
}

// TestTypesHaveOneValueForEachLabel: the core counts for minValues also those
// values of a type that the NodePool excludes. A type with one value for each
// label has none.
func TestTypesHaveOneValueForEachLabel(t *testing.T) {
	for _, it := range typesIn(t, "us-ord").List() {
		for key, r := range it.Requirements {
			if r.Operator() != corev1.NodeSelectorOpDoesNotExist && r.Len() != 1 {
				t.Errorf("%s has %d values for %s", it.Name, r.Len(), key)
			}
		}
		if len(it.Offerings) != 1 {
			t.Errorf("%s has %d offerings", it.Name, len(it.Offerings))
		}
	}
}

// TestANodeIsTheCoresFromTheStart: the core repairs no node that it came to know
// as its own after the node's conditions had settled. It knows its nodes by the
// label of their class, which EarlyBind puts on before they are ready.
func TestANodeIsTheCoresFromTheStart(t *testing.T) {
	nc := nodeClaim("1")
	class := karpv1.NodeClassLabelKey(nc.Spec.NodeClassRef.GroupKind())
	nc.Labels[class] = "default"
	node := &corev1.Node{}
	mark(node, lkeapi.Pool{}, nc)
	if class != v1alpha1.Group+"/linodenodeclass" || node.Labels[class] != "default" {
		t.Errorf("the node has no label %s: %v", class, node.Labels)
	}
}

package linode

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/lkeapi"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// This file holds what the provider does, or is, because of bugs of Karpenter
// v1.14.1 that v1.14.3 mends. The fifth is seedSweeper's, in engine.

// TestARefusalIsNotInstant: a NodeClaim that goes while the core makes others of
// its batch may stay in the core's state for ever, or, of a static NodePool, end
// the process.
func TestARefusalIsNotInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := readyClass()
		broken.StatusConditions().SetFalse(linodev1alpha1.ConditionValidationSucceeded, "Invalid", "no")
		for name, p := range map[string]*Provider{
			"no room":               provider(t, readyClass(), nodePool(), capped("none", nodes(0))),
			"a class that is wrong": provider(t, broken, nodePool()),
		} {
			nc := numbered(1)
			nc.CreationTimestamp = metav1.Now()
			start := time.Now()
			if _, err := p.Create(t.Context(), nc); err == nil {
				t.Errorf("%s: the claim is not refused", name)
			}
			if took := time.Since(start); took < 2*time.Second {
				t.Errorf("%s: refused after %s", name, took)
			}
			start = time.Now()
			if _, err := p.Create(t.Context(), nc); err == nil || time.Since(start) > 0 {
				t.Errorf("%s: an old claim is refused after %s: %v", name, time.Since(start), err)
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
	if class != linodev1alpha1.Group+"/linodenodeclass" || node.Labels[class] != "default" {
		t.Errorf("the node has no label %s: %v", class, node.Labels)
	}
}

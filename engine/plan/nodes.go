package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/schemas/v1alpha1"
)

// Node is a NodeClaim of a cluster, as far as its replacement goes.
type Node struct {
	Name        string
	Pool        string
	Class       string
	Labels      map[string]string
	Annotations map[string]string
}

// Count is how many nodes of a pool a change replaces.
type Count struct {
	Rolled int // that are replaced for the change, and not already before it
	Of     int // all nodes of the pool
	Wave   int // that may be replaced at a time; 0: the budgets allow none at any time
}

// count fills in, for each pool that changes, which of the cluster's nodes
// drift by the new objects and did not by the old ones. It is the comparison
// that Karpenter makes for each NodeClaim (karpenter v1.14.1, drift.go in
// pkg/controllers/nodeclaim/disruption), and the provider for its class.
func (p *Plan) count(base, head State) error {
	if head.Nodes == nil {
		return nil
	}
	before, err := judges(base)
	if err != nil {
		return err
	}
	after, err := judges(head)
	if err != nil {
		return err
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		pool, ok := after[id{"NodePool", c.Name}]
		if c.Kind != "NodePool" || (!ok && c.Action != Delete) {
			continue
		}
		c.Count = &Count{}
		for _, n := range head.Nodes {
			if n.Pool != c.Name {
				continue
			}
			c.Count.Of++
			if c.Action == Delete || (pool.drifted(n) && !before[id{"NodePool", c.Name}].drifted(n)) {
				c.Count.Rolled++
			}
		}
		c.Count.Wave = pool.wave(c.Count.Of)
	}
	return nil
}

// judge knows what the nodes of one pool must be like.
type judge struct {
	pool         *karpv1.NodePool // nil: there is no pool
	hash         string
	requirements scheduling.Requirements
	classes      map[string]string // hashes by name
}

func judges(s State) (map[id]judge, error) {
	classes, all := map[string]string{}, map[id]judge{}
	for _, o := range s.Objects {
		if o.Kind() != "LinodeNodeClass" {
			continue
		}
		var class v1alpha1.LinodeNodeClass
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Defaulted, &class); err != nil {
			return nil, fmt.Errorf("read %s: %w", o.Addr, err)
		}
		classes[class.Name] = class.Hash()
	}
	for _, o := range s.Objects {
		if o.Kind() != "NodePool" {
			continue
		}
		pool := &karpv1.NodePool{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Defaulted, pool); err != nil {
			return nil, fmt.Errorf("read %s: %w", o.Addr, err)
		}
		all[o.id()] = judge{
			pool: pool, hash: pool.Hash(), classes: classes,
			requirements: scheduling.NewNodeSelectorRequirementsWithMinValues(pool.Spec.Template.Spec.Requirements...),
		}
	}
	return all, nil
}

// drifted reports whether a node is not what the pool asks for. Hashes that
// were made in another way are not compared, as Karpenter and the provider
// compare none.
func (j judge) drifted(n Node) bool {
	if j.pool == nil {
		return false
	}
	same := func(versionKey, version, hashKey, hash string) bool {
		return n.Annotations[versionKey] != version || n.Annotations[hashKey] == hash
	}
	if !same(karpv1.NodePoolHashVersionAnnotationKey, karpv1.NodePoolHashVersion, karpv1.NodePoolHashAnnotationKey, j.hash) {
		return true
	}
	if hash, known := j.classes[n.Class]; known && !same(v1alpha1.AnnotationHashVersion, v1alpha1.HashVersion, v1alpha1.AnnotationHash, hash) {
		return true
	}
	return scheduling.NewLabelRequirements(n.Labels).Compatible(j.requirements) != nil
}

// wave is how many of so many nodes the budgets let go at a time, those apart
// that hold at times only.
func (j judge) wave(nodes int) int {
	least := nodes
	if j.pool == nil {
		return least
	}
	for _, b := range j.pool.Spec.Disruption.Budgets {
		if b.Schedule != nil || !covers(b) {
			continue
		}
		value := karpv1.GetIntStrFromValue(b.Nodes)
		if n, err := intstr.GetScaledValueFromIntOrPercent(&value, nodes, true); err == nil {
			least = min(least, n)
		}
	}
	return least
}

func covers(b karpv1.Budget) bool {
	for _, reason := range b.Reasons {
		if reason == karpv1.DisruptionReasonDrifted {
			return true
		}
	}
	return len(b.Reasons) == 0
}

// sentence says it for people.
func (c Count) sentence(gone bool) string {
	switch {
	case c.Of == 0:
		return "the pool has no nodes"
	case gone:
		return fmt.Sprintf("%d of %d nodes go at once", c.Of, c.Of)
	case c.Rolled == 0:
		return fmt.Sprintf("0 of %d nodes are replaced", c.Of)
	case c.Wave == 0:
		return fmt.Sprintf("%d of %d nodes would be replaced, but the budgets never let one go", c.Rolled, c.Of)
	}
	return fmt.Sprintf("%d of %d nodes replaced, %d at a time", c.Rolled, c.Of, min(c.Wave, c.Rolled))
}

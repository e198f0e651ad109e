package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	nodeclaimdisruption "sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/disruption"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/engine/simulate/disrupt"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/schemas"
)

// Change simulates what a change does to nodes that are there. Those that the pods of base
// have got, after consolidation, stay at first; the pools are those of head from then
// on, and Karpenter replaces what differs, within the budgets, until nothing changes any
// more. Pools that head does not have are being removed. Both have Consolidate, the same pods and
// the same region.
//
// New versions of Kubernetes roll all pools at once here; in a cluster they take turns.
func Change(ctx context.Context, base, head Input) (*Consolidated, error) {
	if base.Consolidate == nil || base.Region != head.Region || base.Tier != head.Tier {
		return nil, errors.New("nodes cannot be taken from one region or tier to another")
	}
	w, pending, err := startCluster(ctx, base, manyPods)
	if err != nil {
		return nil, err
	}
	e, err := w.consolidate(ctx, base, pending)
	if err != nil {
		return nil, err
	}
	e.changed, e.stuck, e.out = true, map[string]string{}, newConsolidated()
	e.dynamic, e.static, e.notes = nil, nil, nil
	if err := e.redeclare(ctx, head.Objects); err != nil {
		return nil, err
	}
	if err := e.scaleStatic(settings(ctx)); err != nil {
		return nil, err
	}
	if e.pending, err = e.place(ctx, e.pending); err != nil {
		return nil, err
	}
	if err := e.run(ctx, head.Consolidate.Steps); err != nil {
		return nil, err
	}
	return e.finish(len(e.pods))
}

// redeclare has other objects be in the world.
func (w *cluster) redeclare(ctx context.Context, objects []map[string]any) error {
	old := w.store.Pools
	fresh := newStore()
	w.store.Pools, w.store.Classes, w.store.Limits = fresh.Pools, fresh.Classes, fresh.Limits
	if err := w.declare(objects); err != nil {
		return err
	}
	w.admit(ctx)
	for _, pool := range sorted(old) {
		if w.store.Pools[pool.Name] == nil {
			w.store.Pools[pool.Name] = removed(pool)
		}
	}
	for _, pool := range sorted(w.store.Pools) {
		metav1.SetMetaDataAnnotation(&pool.ObjectMeta, karpv1.NodePoolHashAnnotationKey, pool.Hash())
		metav1.SetMetaDataAnnotation(&pool.ObjectMeta, karpv1.NodePoolHashVersionAnnotationKey, karpv1.NodePoolHashVersion)
		ready(pool)
	}
	_, err := w.chooser.Limits.Show(ctx)
	return err
}

// removed is a pool that is no longer declared, as package plan has it: it makes no
// node, and its nodes differ from it. One with replicas gives them up in the same way.
func removed(pool *karpv1.NodePool) *karpv1.NodePool {
	pool = pool.DeepCopy()
	if pool.Spec.Limits == nil {
		pool.Spec.Limits = karpv1.Limits{}
	}
	pool.Spec.Limits[resources.Node], pool.Spec.Replicas = resource.Quantity{}, nil
	metav1.SetMetaDataAnnotation(&pool.ObjectMeta, schemas.AnnotationRemoval, "simulated")
	if pool.Spec.Template.Annotations == nil {
		pool.Spec.Template.Annotations = map[string]string{}
	}
	pool.Spec.Template.Annotations[schemas.AnnotationRemoval] = "simulated"
	return pool
}

// ready gives a pool the conditions that the controllers would give it.
func ready(pool *karpv1.NodePool) {
	pool.StatusConditions().SetTrue(karpv1.ConditionTypeValidationSucceeded)
	pool.StatusConditions().SetTrue(karpv1.ConditionTypeNodeClassReady)
}

// scaleStatic makes the nodes that static pools want in addition, and removes those that they
// no longer want, at once: those with the fewest pods.
func (e *consolidation) scaleStatic(ctx context.Context) error {
	for _, m := range e.made {
		m.static = e.store.Pools[m.pool()].Spec.Replicas != nil
	}
	for _, pool := range e.static {
		var has []*simNode
		for _, m := range e.made {
			if m.pool() == pool.Name {
				has = append(has, m)
			}
		}
		slices.SortStableFunc(has, func(a, b *simNode) int { return len(e.store.Bound[a.node]) - len(e.store.Bound[b.node]) })
		wanted := min(int(*pool.Spec.Replicas), maxStatic)
		if gone := has[:max(0, len(has)-wanted)]; len(gone) > 0 {
			move := Move{Kind: disrupt.Replicas, Gone: e.refs(gone), Made: []NodeRef{}, Saved: e.cost(gone)}
			var err error
			if move.Pods, err = e.move(ctx, gone, nil); err != nil {
				return err
			}
			e.out.Steps = append(e.out.Steps, move)
		}
	}
	count := map[string]int64{}
	for _, m := range e.made {
		count[m.pool()]++
	}
	standing := len(e.made)
	if err := e.makeStatic(ctx, count); err != nil {
		return err
	}
	if fresh := e.made[standing:]; len(fresh) > 0 {
		e.out.Steps = append(e.out.Steps, Move{
			Kind: disrupt.Replicas, Gone: []NodeRef{}, Made: e.refs(fresh), Saved: Cost{}.Less(e.cost(fresh)),
		})
	}
	return nil
}

// judge has Karpenter's own controller say which nodes differ from their pools and classes.
func (e *consolidation) judge(ctx context.Context) error {
	// Another chooser: this one would remember for a while how far versions are.
	chooser := *e.chooser
	chooser.Orders = e.backend.Orders(e.store, e.types)
	provider := linode.NewProvider(&chooser, nil)
	controller := nodeclaimdisruption.NewController(e.now, e.store, provider)
	for _, m := range e.made {
		asked := m.claim.DeepCopy()
		if _, err := controller.Reconcile(ctx, asked); err != nil {
			return fmt.Errorf("have Karpenter judge %s: %w", m.node, err)
		}
		conditions := m.claim.StatusConditions(status.WithClock(e.now))
		if found := asked.StatusConditions().Get(karpv1.ConditionTypeDrifted); found.IsTrue() {
			conditions.SetTrueWithReason(karpv1.ConditionTypeDrifted, found.Reason, found.Message)
		} else if err := conditions.Clear(karpv1.ConditionTypeDrifted); err != nil {
			return err
		}
	}
	return nil
}

func drifted(m *simNode) bool {
	return m.claim.StatusConditions().Get(karpv1.ConditionTypeDrifted).IsTrue()
}

// kubelet is the version of Kubernetes of new nodes; "" where no class says one.
func (w *cluster) kubelet(nc *karpv1.NodeClaim) (info corev1.NodeSystemInfo) {
	if class := w.store.Classes[nc.Spec.NodeClassRef.Name]; class != nil && class.Spec.LKEK8sVersion != nil {
		info.KubeletVersion = *class.Spec.LKEK8sVersion
	}
	return info
}

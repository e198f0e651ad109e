package linode

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/utils/nodepool"

	"github.com/lkeplan/lkeplan/linode/inplace"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// ReasonRelabeled is the reason of the event on a NodePool after its nodes have the labels and annotations of a change.
const ReasonRelabeled = "NodesRelabeled"

// relabelAgain is the time until a NodePool is reconciled again after a write or a conflict, because the cache
// lags.
const relabelAgain = time.Second

// Relabeler is the controller that carries out the decisions of package inplace: it writes the labels and
// annotations that change in place on the NodeClaims and Nodes of a NodePool.
type Relabeler struct {
	client  client.Client
	events  events.EventRecorder
	behind  *prometheus.GaugeVec
	changed map[string]map[string]bool // Nodes written since the last event, by NodePool
}

// NewRelabeler returns the controller.
func NewRelabeler(c client.Client, recorder events.EventRecorder) *Relabeler {
	return &Relabeler{client: c, events: recorder, changed: map[string]map[string]bool{}, behind: prometheus.NewGaugeVec(
		prometheus.GaugeOpts{
			Name: "lkeplan_nodes_not_relabeled",
			Help: "NodeClaims that do not have the labels and annotations that change in place, or whose Nodes do not, by " +
				"NodePool.",
		}, []string{"nodepool"})}
}

// Metrics returns the metric with the number of nodes that are not relabeled yet.
func (c *Relabeler) Metrics() []prometheus.Collector { return []prometheus.Collector{c.behind} }

// Register implements operatorpkg's Controller.
func (c *Relabeler) Register(_ context.Context, mgr ctrl.Manager) error {
	metadata := builder.WithPredicates(predicate.Or[client.Object](predicate.LabelChangedPredicate{},
		predicate.AnnotationChangedPredicate{}))
	return ctrl.NewControllerManagedBy(mgr).Named("nodepool.relabel").
		For(&karpv1.NodePool{}, builder.WithPredicates(predicate.Or[client.Object](predicate.GenerationChangedPredicate{},
			predicate.AnnotationChangedPredicate{}))).
		Watches(&karpv1.NodeClaim{}, nodeclaim.Collect(gather, nodepool.NodeClaimEventHandler())).
		Watches(&corev1.Node{}, nodeclaim.Collect(gather, nodepool.NodeEventHandler()), metadata).
		Complete(c)
}

// Reconcile updates the NodeClaims and Nodes of a NodePool. If another client has written an object since it was
// read, the write fails and is retried.
func (c *Relabeler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var pool karpv1.NodePool
	if err := c.client.Get(ctx, req.NamespacedName, &pool); err != nil || !pool.DeletionTimestamp.IsZero() {
		c.behind.DeleteLabelValues(req.Name)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var claims karpv1.NodeClaimList // shared with the cache: a burst of nodes reconciles its NodePool many times
	ours := client.MatchingLabels{karpv1.NodePoolLabelKey: pool.Name}
	if err := c.client.List(ctx, &claims, ours, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("list the NodeClaims of NodePool %s: %w", pool.Name, err)
	}
	keys := inplace.Keys(&pool)
	recorded := func(nc karpv1.NodeClaim) bool { return nc.Annotations[inplace.AnnotationValues] != "" }
	if len(keys) == 0 && !slices.ContainsFunc(claims.Items, recorded) {
		c.behind.DeleteLabelValues(pool.Name)
		return ctrl.Result{}, nil
	}
	template, behind, conflicts := inplace.TemplateOf(&pool), 0, false
	var errs []error
	for i := range claims.Items {
		nc := &claims.Items[i]
		if !nodeclaim.Managed(nc) || !nc.DeletionTimestamp.IsZero() {
			continue
		}
		wrote, err := c.write(ctx, template, nc)
		switch {
		case apierrors.IsConflict(err):
			conflicts = true
		case err != nil:
			errs = append(errs, err)
		case !wrote:
			continue
		}
		behind++
	}
	c.behind.WithLabelValues(pool.Name).Set(float64(behind))
	if err := errors.Join(errs...); err != nil {
		c.events.Eventf(&pool, nil, corev1.EventTypeWarning, inplace.ReasonNotRelabeled, "Relabel",
			"labels or annotations could not be changed in place; the controller tries again; nodes: %d; first error: %.300v",
			len(errs), errs[0])
		return ctrl.Result{}, err
	}
	if !conflicts {
		c.report(&pool)
	}
	if behind > 0 { // the next pass verifies the writes
		return ctrl.Result{RequeueAfter: relabelAgain}, nil
	}
	return ctrl.Result{}, nil
}

// write updates one claim and its Node, and reports whether one of them differed.
func (c *Relabeler) write(ctx context.Context, template inplace.Template, nc *karpv1.NodeClaim) (wrote bool,
	err error) {
	node, err := c.node(ctx, nc)
	if err != nil {
		return false, err
	}
	claim, changed := template.Next(nc, node)
	if claim != nil {
		err := c.client.Patch(ctx, claim, nodeclaim.IfUnchanged(nc))
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("write the labels of NodeClaim %s: %w", nc.Name, err)
		}
	}
	if changed != nil {
		err := c.client.Patch(ctx, changed, nodeclaim.IfUnchanged(node))
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("write the labels of Node %s: %w", node.Name, err)
		}
		pool := nc.Labels[karpv1.NodePoolLabelKey]
		if c.changed[pool] == nil {
			c.changed[pool] = map[string]bool{}
		}
		c.changed[pool][node.Name] = true
	}
	return claim != nil || changed != nil, nil
}

// node returns the Node of a claim; nil until Karpenter has registered it.
func (c *Relabeler) node(ctx context.Context, nc *karpv1.NodeClaim) (*corev1.Node, error) {
	if nc.Status.NodeName == "" {
		return nil, nil
	}
	var node corev1.Node
	if err := c.client.Get(ctx, client.ObjectKey{Name: nc.Status.NodeName}, &node, client.UnsafeDisableDeepCopy); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if node.Spec.ProviderID != nc.Status.ProviderID || node.Labels[karpv1.NodeRegisteredLabelKey] != "true" ||
		!node.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	return &node, nil
}

// report writes one event for all Nodes that were changed since the last event.
func (c *Relabeler) report(pool *karpv1.NodePool) {
	n := len(c.changed[pool.Name])
	delete(c.changed, pool.Name)
	if n > 0 {
		c.events.Eventf(pool, nil, corev1.EventTypeNormal, ReasonRelabeled, "Relabel",
			"labels or annotations were changed in place; no node was replaced for them; changed Nodes: %d", n)
	}
}

package limits

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/awslabs/operatorpkg/status"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/utils/nodepool"

	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// ConditionReplacementsStopped on a NodePool is true if its nodes are not replaced for drift any more, because the
// replacements did not end; the message has the reason. Otherwise the condition is absent.
const ConditionReplacementsStopped = "ReplacementsStopped"

// observed reads the existing conditions.
var observed = status.WithObservedOnly()

// Replacements stops NodePools that replace nodes repeatedly without a change of their template, and releases
// them after a change.
type Replacements struct {
	client client.Client
	live   client.Reader
	events events.EventRecorder
	most   int

	// announced are the NodePools that this process has written an event on. The stored
	// condition does not say whether its event was sent.
	announced map[types.UID]bool
	names     map[string]types.UID
}

// NewReplacements returns the controller. Most is how many nodes of a NodePool may be replaced
// without a change of its template, 0 for any number. Live reads from the API server.
func NewReplacements(c client.Client, live client.Reader, most int, recorder events.EventRecorder) *Replacements {
	stoppedMetric()
	return &Replacements{client: c, live: live, events: recorder, most: most,
		announced: map[types.UID]bool{}, names: map[string]types.UID{}}
}

// stoppedMetric registers the metric, once in a process.
var stoppedMetric = sync.OnceValue(func() *prometheus.GaugeVec {
	return promauto.With(crmetrics.Registry).NewGaugeVec(prometheus.GaugeOpts{
		Name: "lkeplan_nodepool_replacements_stopped",
		Help: "1 if drifted nodes of a NodePool are kept because replacing them did not end.",
	}, []string{"nodepool"})
})

// Register implements operatorpkg's Controller.
func (c *Replacements) Register(_ context.Context, mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("nodepool.replacements").
		For(&karpv1.NodePool{}, builder.WithPredicates(templateChanges)).
		Watches(&karpv1.NodeClaim{}, nodeclaim.Collect(gather, nodepool.NodeClaimEventHandler()),
			builder.WithPredicates(predicate.Funcs{UpdateFunc: claimChanges})).
		Watches(&corev1.Node{}, nodeclaim.Collect(gather, nodepool.NodeEventHandler()),
			builder.WithPredicates(predicate.Funcs{UpdateFunc: nodeChanges})).
		Watches(&linodev1alpha1.LinodeNodeClass{}, nodepool.NodeClassEventHandler(c.client),
			builder.WithPredicates(predicate.Funcs{UpdateFunc: classChanges})).
		Complete(c)
}

// templateChanges are the changes of a NodePool that may change a decision, or what it says of
// that: other writers of conditions may drop one that their cache does not show.
var templateChanges = predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.Funcs{
	UpdateFunc: func(ev event.UpdateEvent) bool {
		was, okWas := ev.ObjectOld.(*karpv1.NodePool)
		is, okIs := ev.ObjectNew.(*karpv1.NodePool)
		return okWas && okIs && (was.Annotations[AnnotationReplacements] != is.Annotations[AnnotationReplacements] ||
			stoppedCondition(was) != nil && stoppedCondition(is) == nil)
	},
})

func stoppedCondition(pool *karpv1.NodePool) *status.Condition {
	return pool.StatusConditions(observed).Get(ConditionReplacementsStopped)
}

func claimChanges(ev event.UpdateEvent) bool {
	was, okWas := ev.ObjectOld.(*karpv1.NodeClaim)
	is, okIs := ev.ObjectNew.(*karpv1.NodeClaim)
	if !okWas || !okIs {
		return false
	}
	for _, kind := range []string{karpv1.ConditionTypeDrifted, karpv1.ConditionTypeDisruptionReason} {
		if was.StatusConditions(observed).Get(kind).IsTrue() != is.StatusConditions(observed).Get(kind).IsTrue() {
			return true
		}
	}
	return was.Status.NodeName != is.Status.NodeName || nodeChanges(ev)
}

func nodeChanges(ev event.UpdateEvent) bool {
	for _, key := range []string{karpv1.DoNotDisruptAnnotationKey, AnnotationHeld, AnnotationTemplate} {
		if ev.ObjectOld.GetAnnotations()[key] != ev.ObjectNew.GetAnnotations()[key] {
			return true
		}
	}
	return ev.ObjectOld.GetLabels()[karpv1.NodePoolLabelKey] != ev.ObjectNew.GetLabels()[karpv1.NodePoolLabelKey]
}

func classChanges(ev event.UpdateEvent) bool {
	was, okWas := ev.ObjectOld.(*linodev1alpha1.LinodeNodeClass)
	is, okIs := ev.ObjectNew.(*linodev1alpha1.LinodeNodeClass)
	return okWas && okIs && (was.Hash() != is.Hash() || was.TargetVersion() != is.TargetVersion())
}

// gather is how long changes of NodeClaims and Nodes are collected. Karpenter looks for drifted nodes only every ten
// seconds.
const gather = 200 * time.Millisecond

// Reconcile decides about one NodePool and carries it out.
func (c *Replacements) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var pool karpv1.NodePool
	err := c.client.Get(ctx, req.NamespacedName, &pool)
	if apierrors.IsNotFound(err) || err == nil && !pool.DeletionTimestamp.IsZero() {
		delete(c.announced, c.names[req.Name])
		delete(c.names, req.Name)
		stoppedMetric().DeleteLabelValues(req.Name)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read NodePool %s: %w", req.Name, err)
	}
	if ref := pool.Spec.Template.Spec.NodeClassRef; ref == nil || ref.Group != linodev1alpha1.Group {
		return ctrl.Result{}, nil
	}
	c.names[pool.Name] = pool.UID
	if err := c.decide(ctx, &pool); err != nil {
		return nodeclaim.AfterWrite(fmt.Errorf("NodePool %s: %w", pool.Name, err))
	}
	return ctrl.Result{}, nil
}

func (c *Replacements) decide(ctx context.Context, pool *karpv1.NodePool) error {
	state, err := c.state(ctx, pool)
	if err != nil {
		return err
	}
	d := decideReplacements(state)
	if d.Stopped == "" && len(d.Release) > 0 {
		// A cache that is behind may not show the record yet that has stopped the NodePool.
		if state.Pool, err = c.fresh(ctx, pool); err != nil || state.Pool == nil {
			return err
		}
		*pool = *state.Pool
		d = decideReplacements(state)
	}
	// What is counted is stored before anything is done about it.
	if err := c.record(ctx, pool, d.Record); err != nil {
		return err
	}
	var errs []error
	for _, o := range d.Hold {
		errs = append(errs, c.annotate(ctx, o, holdPool))
	}
	for _, o := range d.Release {
		errs = append(errs, c.annotate(ctx, o, releasePool))
	}
	for _, nc := range d.Looked {
		errs = append(errs, c.annotate(ctx, nc, func(a map[string]string) { delete(a, AnnotationTemplate) }))
	}
	return errors.Join(append(errs, c.say(ctx, pool, d))...)
}

func holdPool(annotations map[string]string) {
	annotations[karpv1.DoNotDisruptAnnotationKey], annotations[AnnotationHeld] = "true", heldValue
}

func releasePool(annotations map[string]string) {
	delete(annotations, AnnotationHeld)
	if annotations[karpv1.DoNotDisruptAnnotationKey] == "true" {
		delete(annotations, karpv1.DoNotDisruptAnnotationKey)
	}
}

// state reads the input of a decision.
func (c *Replacements) state(ctx context.Context, pool *karpv1.NodePool) (replacementState, error) {
	s := replacementState{Pool: pool, Most: c.most}
	var class linodev1alpha1.LinodeNodeClass
	name := pool.Spec.Template.Spec.NodeClassRef.Name
	if err := c.client.Get(ctx, client.ObjectKey{Name: name}, &class); err == nil {
		s.Class = &class
	} else if !apierrors.IsNotFound(err) {
		return s, fmt.Errorf("read LinodeNodeClass %s: %w", name, err)
	}
	var claims karpv1.NodeClaimList
	var nodes corev1.NodeList
	for _, list := range []client.ObjectList{&claims, &nodes} {
		ours := client.MatchingLabels{karpv1.NodePoolLabelKey: pool.Name}
		if err := c.client.List(ctx, list, ours, client.UnsafeDisableDeepCopy); err != nil {
			return s, fmt.Errorf("list its NodeClaims and Nodes: %w", err)
		}
	}
	s.Claims, s.Nodes = claims.Items, nodes.Items
	return s, nil
}

// fresh returns a NodePool as the API server has it; nil if it does not exist any more, or was created again.
func (c *Replacements) fresh(ctx context.Context, pool *karpv1.NodePool) (*karpv1.NodePool, error) {
	var list karpv1.NodePoolList
	if err := c.live.List(ctx, &list, client.MatchingFields{"metadata.name": pool.Name}); err != nil {
		return nil, fmt.Errorf("read it from the API server: %w", err)
	}
	if len(list.Items) != 1 || list.Items[0].UID != pool.UID || !list.Items[0].DeletionTimestamp.IsZero() {
		return nil, nil
	}
	return &list.Items[0], nil
}

// record stores the record of a NodePool, or removes it if the text is "".
func (c *Replacements) record(ctx context.Context, pool *karpv1.NodePool, text string) error {
	if pool.Annotations[AnnotationReplacements] == text {
		return nil
	}
	stored := pool.DeepCopy()
	metav1.SetMetaDataAnnotation(&pool.ObjectMeta, AnnotationReplacements, text)
	if text == "" {
		delete(pool.Annotations, AnnotationReplacements)
	}
	if err := c.client.Patch(ctx, pool, nodeclaim.IfUnchanged(stored)); err != nil {
		return fmt.Errorf("record which nodes were replaced: %w", err)
	}
	return nil
}

// annotate changes the annotations of a NodeClaim or a Node, if it has not changed since it was read. An object
// that is gone is skipped.
func (c *Replacements) annotate(ctx context.Context, o client.Object, change func(map[string]string)) error {
	changed, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("cannot copy %T %s", o, o.GetName())
	}
	annotations := changed.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	change(annotations)
	changed.SetAnnotations(annotations)
	if err := c.client.Patch(ctx, changed, nodeclaim.IfUnchanged(o)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("annotate %s: %w", o.GetName(), err)
	}
	return nil
}

// say writes the condition, the event and the metric of a NodePool.
func (c *Replacements) say(ctx context.Context, pool *karpv1.NodePool, d replacementDecision) error {
	stopped := d.Stopped != ""
	value := 0.0
	if stopped {
		value = 1
	}
	stoppedMetric().WithLabelValues(pool.Name).Set(value)
	if stopped && !c.announced[pool.UID] {
		c.events.Eventf(pool, nil, corev1.EventTypeWarning, ConditionReplacementsStopped, "Replace", "%s", d.Stopped)
	}
	c.announced[pool.UID] = stopped
	stored := pool.DeepCopy()
	conditions := pool.StatusConditions(observed)
	if stopped {
		conditions.SetTrueWithReason(ConditionReplacementsStopped, d.Reason, d.Stopped)
	} else if stoppedCondition(pool) != nil {
		_ = conditions.Clear(ConditionReplacementsStopped) // an error is only possible for parts of Ready
	}
	if err := nodeclaim.PatchStatus(ctx, c.client, stored, pool); err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	return nil
}

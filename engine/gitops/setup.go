package gitops

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/events"
	"github.com/fluxcd/pkg/runtime/metrics"
	"github.com/fluxcd/pkg/runtime/predicates"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/fetch"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Options are how NodePlans are reconciled.
type Options struct {
	Cluster            string // the label of the LKE cluster
	Version            string // of this program
	Prices             *catalog.Catalog
	Concurrent         int    // NodePlans at a time
	EventsAddress      string // of notification-controller; "": none
	ServiceAccount     string // in whose name NodePlans are applied that name none; "": the controller's
	SameNamespace      bool   // forbid sources, and what is planned for, of other namespaces
	FetchRetries       int
	DependencyInterval time.Duration
	Compiler           Compiler // nil: child processes
}

// The indexes of NodePlans.
const (
	bySource    = ".spec.sourceRef"
	byConfigMap = ".spec.configMapRef"
	byPlanFor   = ".spec.planFor"
)

// Add has NodePlans reconciled by a manager, for as long as its process leads.
// Kinds of sources that the cluster does not have at the start are not watched:
// install Flux first.
func Add(ctx context.Context, mgr manager.Manager, o Options) error {
	for _, add := range []func() error{
		func() error { return lkeplanv1alpha1.AddToScheme(mgr.GetScheme()) },
		func() error { return sourcev1.AddToScheme(mgr.GetScheme()) },
		func() error {
			return mgr.GetFieldIndexer().IndexField(ctx, &lkeplanv1alpha1.NodePlan{}, bySource, indexSource)
		},
		func() error {
			return mgr.GetFieldIndexer().IndexField(ctx, &lkeplanv1alpha1.NodePlan{}, byConfigMap, indexConfigMap)
		},
		func() error {
			return mgr.GetFieldIndexer().IndexField(ctx, &lkeplanv1alpha1.NodePlan{}, byInventory, indexInventory)
		},
		func() error {
			return mgr.GetFieldIndexer().IndexField(ctx, &lkeplanv1alpha1.NodePlan{}, byPlanFor, indexPlanFor)
		},
	} {
		if err := add(); err != nil {
			return err
		}
	}
	recorder, err := events.NewRecorder(mgr, mgr.GetLogger(), o.EventsAddress, "lkeplan-controller")
	if err != nil {
		return fmt.Errorf("send events to %q: %w", o.EventsAddress, err)
	}
	again := make(chan event.TypedGenericEvent[types.NamespacedName], 1024)
	r := &Reconciler{
		Client:        mgr.GetClient(),
		EventRecorder: recorder,
		Metrics:       controller.NewMetrics(mgr, metrics.MustMakeRecorder(), Finalizer),
		Worker: worker(mgr, o, func(other types.NamespacedName) {
			again <- event.TypedGenericEvent[types.NamespacedName]{Object: other}
		}),
		DependencyInterval: o.DependencyInterval,
	}
	return build(mgr, r, o, again)
}

// compilations are done at a time, whatever the number of NodePlans. Each may
// take compile.DefaultMemory; kube/deploy/controller.yaml has room for as many.
const compilations = 2

// worker puts together what does the work. It calls notify for NodePlans that are
// to be reconciled again because of another one.
func worker(mgr manager.Manager, o Options, notify func(types.NamespacedName)) *Worker {
	compiler := o.Compiler
	if compiler == nil {
		compiler = compile.Child{}
	}
	reader := mgr.GetAPIReader()
	return &Worker{
		Sources: ClusterSources{
			Client: mgr.GetClient(), Reader: reader, SameNamespace: o.SameNamespace,
			Fetch: fetch.NewArtifacts(o.FetchRetries).Fetch,
		},
		Compiler: takeTurns(compiler, compilations),
		Connect:  connector(mgr.GetConfig(), o.ServiceAccount),
		Vars:     ReadVariables(reader),
		Records:  ConfigMaps{mgr.GetClient(), reader},
		Rivals:   NewRivals(notify),
		Cache:    mgr.GetClient(),
		Cluster:  o.Cluster, Version: o.Version, Prices: o.Prices, SameNamespace: o.SameNamespace,
		Now: time.Now,
	}
}

// connector reads and applies in the name of the service account of each
// NodePlan. The connection of an account is made once.
func connector(cfg *rest.Config, standard string) func(*lkeplanv1alpha1.NodePlan) (Cluster, error) {
	var mu sync.Mutex
	connections := map[string]*kube.Cluster{}
	return func(np *lkeplanv1alpha1.NodePlan) (Cluster, error) {
		account := cmp.Or(np.Spec.ServiceAccountName, standard)
		as := rest.CopyConfig(cfg)
		if account != "" {
			as.Impersonate.UserName = fmt.Sprintf("system:serviceaccount:%s:%s", np.Namespace, account)
		}
		mu.Lock()
		defer mu.Unlock()
		if known := connections[as.Impersonate.UserName]; known != nil {
			return known, nil
		}
		cluster, err := kube.NewCluster(as)
		if err != nil {
			return nil, err
		}
		connections[as.Impersonate.UserName] = cluster
		return cluster, nil
	}
}

// build starts the watches.
func build(mgr manager.Manager, r *Reconciler, o Options, again chan event.TypedGenericEvent[types.NamespacedName]) error {
	b := ctrl.NewControllerManagedBy(mgr).
		Named("nodeplan").
		For(&lkeplanv1alpha1.NodePlan{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicates.ReconcileRequestedPredicate{}))).
		WithOptions(ctrlcontroller.Options{MaxConcurrentReconciles: max(o.Concurrent, 1)}).
		WatchesRawSource(source.TypedChannel[types.NamespacedName, reconcile.Request](again, handler.TypedFuncs[types.NamespacedName, reconcile.Request]{
			GenericFunc: func(_ context.Context, e event.TypedGenericEvent[types.NamespacedName], queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
				queue.Add(reconcile.Request{NamespacedName: e.Object})
			},
		})).
		Watches(&lkeplanv1alpha1.NodePlan{}, handler.EnqueueRequestsFromMapFunc(r.of(byPlanFor, "")), builder.WithPredicates(lastAppliedChanged{})).
		WatchesMetadata(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.of(byConfigMap, "")), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{}))
	for _, obj := range kept() {
		b = b.Watches(obj, handler.EnqueueRequestsFromMapFunc(r.keeper), builder.WithPredicates(byOthers{}))
	}
	for kind, empty := range kindsOfSource() {
		_, err := mgr.GetRESTMapper().RESTMapping(schema.GroupKind{Group: sourcev1.GroupVersion.Group, Kind: kind}, sourcev1.GroupVersion.Version)
		switch {
		case meta.IsNoMatchError(err):
			continue
		case err != nil:
			return fmt.Errorf("ask the API server for the kind %s: %w", kind, err)
		}
		b = b.Watches(empty(), handler.EnqueueRequestsFromMapFunc(r.of(bySource, kind)), builder.WithPredicates(revised{}))
	}
	return b.Complete(r)
}

// of finds the NodePlans of a source.
func (r *Reconciler) of(index, kind string) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		var list lkeplanv1alpha1.NodePlanList
		if err := r.List(ctx, &list, client.MatchingFields{index: sourceKey(kind, obj.GetNamespace(), obj.GetName())}); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "the NodePlans of a source could not be listed", "kind", kind, "name", obj.GetName())
			return nil
		}
		var requests []reconcile.Request
		for _, np := range list.Items {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&np)})
		}
		return requests
	}
}

func sourceKey(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

func indexSource(obj client.Object) []string {
	np, ok := obj.(*lkeplanv1alpha1.NodePlan)
	if !ok || np.Spec.SourceRef == nil {
		return nil
	}
	namespace := np.Spec.SourceRef.Namespace
	if namespace == "" {
		namespace = np.Namespace
	}
	return []string{sourceKey(np.Spec.SourceRef.Kind, namespace, np.Spec.SourceRef.Name)}
}

func indexConfigMap(obj client.Object) []string {
	np, ok := obj.(*lkeplanv1alpha1.NodePlan)
	if !ok {
		return nil
	}
	var keys []string
	if np.Spec.ConfigMapRef != nil {
		keys = append(keys, sourceKey("", np.Namespace, np.Spec.ConfigMapRef.Name))
	}
	for _, from := range np.Spec.VariablesFrom {
		if from.Kind == "ConfigMap" {
			keys = append(keys, sourceKey("", np.Namespace, from.Name))
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// revised lets pass the updates of a source that bring another artifact, or a
// signature that is verified now, or no longer.
type revised struct{ predicate.Funcs }

// Update implements predicate.Predicate.
func (revised) Update(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(fluxSource)
	if !ok {
		return false
	}
	after, ok := e.ObjectNew.(fluxSource)
	if !ok || after.GetArtifact() == nil {
		return false
	}
	return before.GetArtifact() == nil || before.GetArtifact().Revision != after.GetArtifact().Revision ||
		before.GetArtifact().Digest != after.GetArtifact().Digest ||
		conditions.IsTrue(before, sourcev1.SourceVerifiedCondition) != conditions.IsTrue(after, sourcev1.SourceVerifiedCondition)
}

// Installed reports whether the cluster has the definition of NodePlan.
func Installed(mapper meta.RESTMapper) (bool, error) {
	_, err := mapper.RESTMapping(schema.GroupKind{Group: lkeplanv1alpha1.Group, Kind: "NodePlan"}, lkeplanv1alpha1.GroupVersion.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}

package gitops

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/events"
	"github.com/fluxcd/pkg/runtime/metrics"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/isolate"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Options configure the reconciliation of NodePlans.
type Options struct {
	Cluster            string // the label of the LKE cluster
	Version            string // of this program
	Prices             func() *catalog.Catalog
	Concurrent         int             // NodePlans at a time; at least 1
	EventsAddress      string          // the URL of notification-controller; "": none
	ServiceAccount     string          // applies NodePlans that name no account; "": the controller's account
	SameNamespace      bool            // forbids sources and planFor in other namespaces
	FetchRetries       int             // how often a failed download is retried
	DependencyInterval time.Duration   // between checks of dependencies that are not ready
	Jitter             float64         // the share by which intervals vary at random
	Shard              labels.Selector // selects the NodePlans that are reconciled; nil selects all
	Compiler           Compiler        // nil means child processes
}

// childMemory is the memory limit of all child processes and simulations of consolidation together, in bytes. It is
// enough for two of them; others wait. The memory limit in kube/deploy allows for it.
const childMemory = 2 * compile.DefaultMemory

// Add adds the reconciler of NodePlans to a manager; it runs while its process is the leader. Kinds
// of sources that the cluster does not have at the start are not watched: install Flux first.
func Add(ctx context.Context, mgr manager.Manager, o Options) error {
	if err := lkeplanv1alpha1.AddToScheme(mgr.GetScheme()); err != nil {
		return err
	}
	if err := sourcev1.AddToScheme(mgr.GetScheme()); err != nil {
		return err
	}
	if err := addIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	recorder, err := events.NewRecorder(mgr, mgr.GetLogger(), o.EventsAddress, "lkeplan-controller")
	if err != nil {
		return fmt.Errorf("send events to %q: %w", o.EventsAddress, err)
	}
	counts := newMetrics(crmetrics.Registry)
	work, err := newWorker(mgr, o, counts)
	if err != nil {
		return err
	}
	r := &Reconciler{
		Client:             mgr.GetClient(),
		EventRecorder:      recorder,
		Metrics:            controller.NewMetrics(mgr, metrics.MustMakeRecorder(), Finalizer),
		Counts:             counts,
		Worker:             work,
		DependencyInterval: o.DependencyInterval,
		Jitter:             o.Jitter,
		Shard:              o.Shard,
	}
	counter := nodeCounter{
		Client: r.Client, Index: byInventory, InShard: r.inShard, Now: time.Now,
	}
	if err := counter.Watch(mgr); err != nil {
		return err
	}
	return watcher{Cache: r.Client, InShard: r.inShard, Concurrent: o.Concurrent}.Watch(mgr, r)
}

// newWorker returns the Worker of a manager's cluster.
func newWorker(mgr manager.Manager, o Options, counts *reconcilerMetrics) (*Worker, error) {
	compiler, memory := o.Compiler, semaphore.NewWeighted(childMemory)
	if compiler == nil {
		compiler = compile.Child{Budget: memory}
	}
	uncached, err := client.New(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	return &Worker{
		Sources: originCluster{
			Cache: mgr.GetClient(), Reader: uncached, SameNamespace: o.SameNamespace,
			Artifacts: isolate.NewArtifacts(o.FetchRetries),
		},
		Compiler:      countedCompiler{Next: compiler, Metrics: counts},
		Connect:       (&accountClients{cfg: mgr.GetConfig(), other: o.ServiceAccount, counts: counts}).Connect,
		Vars:          ReadVariables(uncached),
		Records:       recordStore{Client: uncached},
		Cache:         mgr.GetClient(),
		Reader:        uncached,
		Cluster:       o.Cluster,
		Memory:        &appliedMemory{},
		Version:       o.Version,
		Prices:        o.Prices,
		SameNamespace: o.SameNamespace,
		Turn:          turnOf(memory),
		Now:           time.Now,
	}, nil
}

// turnOf makes a simulation wait until as much memory is free as a compilation needs.
func turnOf(memory *semaphore.Weighted) compare.Turn {
	return func(ctx context.Context) (func(), error) {
		if err := memory.Acquire(ctx, compile.DefaultMemory); err != nil {
			return nil, err
		}
		return func() { memory.Release(compile.DefaultMemory) }, nil
	}
}

// accountClients are connections that impersonate the service accounts of NodePlans, each created
// once. NodePlans that name no account use the account other; "" for that of the client
// configuration.
type accountClients struct {
	cfg    *rest.Config
	other  string
	counts *reconcilerMetrics

	byUser sync.Map // Cluster by name
}

// Connect returns a connection to the cluster as the service account of a NodePlan.
func (a *accountClients) Connect(np *lkeplanv1alpha1.NodePlan) (Cluster, error) {
	as := rest.CopyConfig(a.cfg)
	if account := cmp.Or(np.Spec.ServiceAccountName, a.other); account != "" {
		as.Impersonate.UserName = fmt.Sprintf("system:serviceaccount:%s:%s", np.Namespace, account)
	}
	if known, ok := a.byUser.Load(as.Impersonate.UserName); ok {
		return known.(Cluster), nil
	}
	cluster, err := kube.NewCluster(as)
	if err != nil {
		return nil, err
	}
	kept, _ := a.byUser.LoadOrStore(as.Impersonate.UserName, countedCluster{cluster, a.counts})
	return kept.(Cluster), nil
}

// countedCluster wraps a Cluster and counts the objects that it applies.
type countedCluster struct {
	Cluster
	Metrics *reconcilerMetrics
}

// Apply implements Cluster.
func (c countedCluster) Apply(ctx context.Context, desired, before map[string]any) (kube.Outcome, error) {
	return c.count(ctx, desired, before, c.Cluster.Apply)
}

// ApplyForced implements Cluster.
func (c countedCluster) ApplyForced(ctx context.Context, desired, before map[string]any) (kube.Outcome, error) {
	return c.count(ctx, desired, before, c.Cluster.ApplyForced)
}

func (c countedCluster) count(ctx context.Context, desired, before map[string]any,
	apply func(context.Context, map[string]any, map[string]any) (kube.Outcome, error)) (kube.Outcome, error) {
	began := time.Now()
	did, err := apply(ctx, desired, before)
	c.Metrics.Applied(cmp.Or(string(did), "failed"), time.Since(began))
	return did, err
}

// countedCompiler wraps a Compiler and counts its compilations.
type countedCompiler struct {
	Next    Compiler
	Metrics *reconcilerMetrics
}

// Compile implements Compiler.
func (c countedCompiler) Compile(ctx context.Context, req compile.Request) (compile.Answer, error) {
	began := time.Now()
	answer, err := c.Next.Compile(ctx, req)
	outcome := "compiled"
	switch {
	case err != nil:
		outcome = "failed"
	case answer.Failed:
		outcome = "errors"
	}
	if c.Metrics != nil {
		c.Metrics.compile.WithLabelValues(outcome).Observe(time.Since(began).Seconds())
	}
	return answer, err
}

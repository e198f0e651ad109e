// Package controller runs Karpenter with the Linode provider, and the reconciler of NodePlans, in
// one process that manages the capacity of one cluster. It also contains what Karpenter's
// controllers need to work well here, each with its reason.
//
// It reads no flags and no environment. Package linode makes the decisions about machines, and
// package gitops those about configuration.
package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeoverlay"
	"sigs.k8s.io/karpenter/pkg/operator/options"

	"github.com/lkeplan/lkeplan/engine/gitops"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instance/token"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/limits"
	"github.com/lkeplan/lkeplan/linode/loop"
	"github.com/lkeplan/lkeplan/linode/maintenance"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Config is the configuration of the controller.
type Config struct {
	Kube *rest.Config // of the cluster whose capacity is managed

	LinodeURL   string // "" means the public API
	LinodeToken string
	ClusterID   int    // of the LKE cluster; 0: find it by name
	ClusterName string // its label; checked against ClusterID if both are set
	Region      string // the region that the cluster must be in; "" for any

	// Instances creates machines as separate Linodes, for a cluster that is not an LKE cluster:
	// ClusterName and Region identify it.
	Instances       bool
	ClusterEndpoint string // https://host:port of the API server for machines; "": that of cluster-info

	LinodeTimeout time.Duration // the time limit of a request; 0: 30s

	// NodeAdmission is the ConfigMap, as namespace/name, that the optional
	// admission policy for Nodes reads; "" for none.
	NodeAdmission string

	// MaxReplacements is how many young nodes of a NodePool are replaced because of drift,
	// without a change of its template, before the replacement stops; 0: unlimited.
	MaxReplacements int

	Only Part // the part of the work that this process does

	// NodePlans are reconciled if the cluster has their CRD. Run sets Cluster and Prices.
	NodePlans gitops.Options

	LeaderElect             bool
	LeaderElectionNamespace string // "": the namespace that the controller runs in
	MetricsAddress          string // host:port; "0" serves none
	ProbeAddress            string // host:port; "0" serves none
	PprofAddress            string // host:port of Go's profiles; "" or "0" serves none

	Karpenter Karpenter
	Timing    loop.Timing
	Log       *slog.Logger
}

// Run manages the capacity of one cluster until ctx ends, then stops cleanly and releases the
// lease. A wrong configuration returns an error that explains what to do.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Only == GitOps {
		return runGitOps(ctx, cfg)
	}
	instancetype.Register()
	kept, err := newRecord(cfg)
	if err != nil {
		return err
	}
	linodes, err := connectToLinode(ctx, cfg, kept)
	if err != nil {
		return err
	}
	cfg.Log.Info("managing the capacity of a cluster", "cluster", linodes.cluster.Label, "id", linodes.cluster.ID,
		"region", linodes.cluster.Region, "tier", linodes.cluster.Tier, "instances", cfg.Instances)
	mgr, err := newManager(&cfg, linodes.lease)
	if err != nil {
		return err
	}
	if err := errors.Join(requireCRDs(mgr.GetRESTMapper()), cfg.omitBuffers(mgr.GetRESTMapper())); err != nil {
		return err
	}
	if !cfg.Instances { // otherwise, the identity of instances refuses an LKE cluster
		if err := requireOwnNodes(ctx, mgr.GetAPIReader(), linodes.cluster); err != nil {
			return explainManager(err, cfg)
		}
	}
	if err := addControllers(ctx, mgr, cfg, linodes); err != nil {
		return err
	}
	if err := fillCache(ctx, mgr.GetCache(), cachedKinds()...); err != nil {
		return err
	}
	return explainManager(mgr.Start(ctx), cfg)
}

func newManager(cfg *Config, leading *lease) (manager.Manager, error) {
	if cfg.LeaderElect {
		if err := leading.elect(*cfg); err != nil {
			return nil, explainManager(err, *cfg)
		}
	}
	logger := logr.FromSlogHandler(newLogHandler(cfg.Log.Handler()))
	config, err := kube.Config(cfg.Kube)
	if err != nil {
		return nil, err
	}
	// A burst of 250 nodes is a thousand requests for NodeClaims. The API server limits clients
	// itself.
	config.QPS, config.Burst, config.UserAgent = 500, 1000, "lkeplan-controller"
	// Of the objects of which a cluster has most, nothing reads who owns which fields.
	anonymous := cache.ByObject{Transform: cache.TransformStripManagedFields()}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme.Scheme,
		Logger: logger,
		// Karpenter reads its options from the context of each reconciler.
		BaseContext: func() context.Context {
			return options.ToContext(logr.NewContext(context.Background(), logger), cfg.Karpenter.options())
		},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&certificatesv1.CertificateSigningRequest{}: {Transform: token.Lean},

			&corev1.Pod{}: anonymous, &corev1.PodTemplate{}: anonymous, &appsv1.Deployment{}: anonymous,
			&appsv1.StatefulSet{}: anonymous, &appsv1.ReplicaSet{}: anonymous, &appsv1.DaemonSet{}: anonymous,

			&coordinationv1.Lease{}: {
				Field: fields.SelectorFromSet(fields.Set{"metadata.namespace": "kube-node-lease"}),
			},
		}},
		// The lock has a separate client, so that a burst of work cannot delay renewing the lease.
		LeaderElection:                      cfg.LeaderElect,
		LeaderElectionResourceLockInterface: leading,
		LeaderElectionReleaseOnCancel:       true,
		LeaseDuration:                       new(leaseDuration),
		RenewDeadline:                       new(renewDeadline),
		RetryPeriod:                         new(retryPeriod),

		Metrics:                server.Options{BindAddress: cfg.MetricsAddress},
		HealthProbeBindAddress: cfg.ProbeAddress,
		PprofBindAddress:       cfg.PprofAddress,
		// The priority queue of controller-runtime v0.24 may never end when it is shut down under
		// load (its issue 3538). A leader would then keep its lease for half a minute.
		Controller: ctrlconfig.Controller{SkipNameValidation: &cfg.Karpenter.Quiet, UsePriorityQueue: new(false)},
	})
	if err != nil {
		return nil, explainManager(err, *cfg)
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("ping", healthz.Ping)); err != nil {
		return nil, err
	}
	leading.manager = mgr
	return mgr, nil
}

func cachedKinds() []client.Object {
	return []client.Object{
		&corev1.Node{}, &corev1.Pod{}, &karpv1.NodeClaim{}, &karpv1.NodePool{}, &linodev1alpha1.LinodeNodeClass{},
		&lkeplanv1alpha1.CapacityLimit{}, &lkeplanv1alpha1.DisruptionStop{},
		&appsv1.DaemonSet{}, &policyv1.PodDisruptionBudget{}, &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{},
		&storagev1.StorageClass{}, &storagev1.CSINode{}, &storagev1.VolumeAttachment{},
	}
}

// fillCache fills the cache with what the controllers need before they run, so that a standby knows the
// cluster when it becomes the leader.
func fillCache(ctx context.Context, c cache.Cache, objects ...client.Object) error {
	for _, o := range objects {
		if _, err := c.GetInformer(ctx, o); err != nil {
			return fmt.Errorf("watch %T: %w", o, err)
		}
	}
	return nil
}

func explainManager(err error, cfg Config) error {
	var network *net.OpError
	switch {
	case !errors.As(err, &network):
	case network.Op == "listen":
		return fmt.Errorf("%w; choose another address with --metrics-bind-address, --health-probe-bind-address or "+
			"--pprof-bind-address", err)
	case network.Op == "dial":
		return fmt.Errorf("the API server at %s does not answer: %w; check KUBECONFIG", cfg.Kube.Host, err)
	}
	return err
}

// requireCRDs checks that the API server has the kinds that the controllers watch, and further kinds
// of lkeplan.
func requireCRDs(mapper meta.RESTMapper, more ...string) error {
	var missing []string
	kinds := []schema.GroupVersionKind{
		{Group: "karpenter.sh", Version: "v1", Kind: "NodePool"},
		{Group: "karpenter.sh", Version: "v1", Kind: "NodeClaim"},
		linodev1alpha1.GroupVersion.WithKind("LinodeNodeClass"),
		lkeplanv1alpha1.GroupVersion.WithKind("CapacityLimit"),
		lkeplanv1alpha1.GroupVersion.WithKind("DisruptionStop"),
	}
	for _, kind := range more {
		kinds = append(kinds, lkeplanv1alpha1.GroupVersion.WithKind(kind))
	}
	for _, kind := range kinds {
		served, err := kube.Serves(mapper, kind)
		if err != nil {
			return err
		}
		if !served {
			missing = append(missing, kind.Kind)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the cluster has no CRD for %s; install the CRDs with: lkeplan crds apply",
			strings.Join(missing, ", "))
	}
	return nil
}

// omitBuffers turns the feature gate CapacityBuffer off, with a warning, if the cluster has no such kind: Karpenter's
// controllers of buffers would end the process after two minutes.
func (cfg *Config) omitBuffers(mapper meta.RESTMapper) error {
	if !cfg.Karpenter.Gates.CapacityBuffer {
		return nil
	}
	served, err := kube.Serves(mapper, schema.FromAPIVersionAndKind(schemas.Buffer.Object.APIVersion, schemas.Buffer.Object.Kind))
	if err == nil && !served {
		cfg.Karpenter.Gates.CapacityBuffer = false
		cfg.Log.Warn("the cluster has no CRD for CapacityBuffer, so buffers reserve no capacity; install the CRDs with: " +
			"lkeplan crds apply, and restart the controller")
	}
	return err
}

func addControllers(ctx context.Context, mgr manager.Manager, cfg Config, linodes *account) error {
	cluster := linodes.cluster
	// The status of each class records whether plans with GPUs are sold on Enterprise. The code that
	// orders machines reads it.
	types := instancetype.New(linodes.prices, cluster.Region, catalog.Tier(cluster.Tier).WithGPUs(true))
	types.SetVersion(cluster.K8sVersion)
	indexer := mgr.GetFieldIndexer()
	if err := errors.Join(indexFields(ctx, indexer), nodeclaim.Index(ctx, indexer)); err != nil {
		return err
	}
	events := mgr.GetEventRecorder("lkeplan")
	refresher := instancetype.NewRefresher(publicAPI{api.Root(cfg.LinodeURL)}, types, linodes.prices, linodes.fresh,
		cfg.Log)
	refresher.Ask(func(ctx context.Context) ([]string, error) { return linodes.api.Capabilities(api.LowPriority(ctx)) })
	if err := mgr.Add(refresher); err != nil {
		return err
	}
	capacityLimits := limits.NewEnforcer(mgr.GetClient(), mgr.GetAPIReader(), types)
	chooser := &linode.Chooser{Client: mgr.GetClient(), Types: types, Limits: capacityLimits}
	overlays := nodeoverlay.NewInstanceTypeStore()
	if cfg.Karpenter.Gates.NodeOverlay {
		chooser.Overlay = overlays.ApplyAll
	}
	how, err := modeOf(ctx, mgr, cfg, linodes, chooser, events)
	if err != nil {
		return explainManager(err, cfg)
	}
	chooser.Orders = how.orders
	if err := registerMetrics(cfg, append(how.metrics, types)...); err != nil {
		return err
	}
	planned, err := addKarpenter(ctx, mgr, cfg.Karpenter, linode.NewProvider(chooser, how.machines), overlays, events)
	if err != nil {
		return err
	}
	placed := func(pod *corev1.Pod) bool {
		return !planned.PodSchedulingSuccessTime(client.ObjectKeyFromObject(pod)).IsZero()
	}
	if err := addNodePlans(ctx, mgr, cfg, cluster.Label, refresher.Prices); err != nil {
		return err
	}
	pools := linode.NewNodePools(mgr.GetClient(), types, how.refused, events)
	refresher.Announce(func(ctx context.Context, repriced []instancetype.Repriced) {
		select {
		case <-mgr.Elected(): // a standby reads prices, too
			pools.AnnouncePrices(ctx, repriced)
		default:
		}
	})
	inPlace := linode.NewRelabeler(mgr.GetClient(), events)
	stops := brake{mgr.GetClient(), mgr.GetAPIReader(), clock.RealClock{}}
	if err := registerMetrics(cfg, append(inPlace.Metrics(), stops.metrics()...)...); err != nil {
		return err
	}
	return registerControllers(ctx, mgr, append(how.controllers, inPlace,
		&maintenance.Controller{
			Client: mgr.GetClient(), API: linodes.api, Events: events, Log: cfg.Log,
			Every: cfg.Timing.WithDefaults().Maintenance, Now: time.Now,
		},
		linode.NewNodeClass(mgr.GetClient(), linode.Linode{
			Cluster: cluster, Mode: how.name, Rules: how.rules, Standing: linodes.standing, Plans: types,
		}, events),
		pools,
		linode.NewPods(mgr.GetClient(), types, how.full, events),
		instancetype.NewObserver(mgr.GetClient(), types, how.ours),
		limits.NewController(mgr.GetClient(), capacityLimits, events, placed),
		limits.NewReplacements(mgr.GetClient(), mgr.GetAPIReader(), cfg.MaxReplacements, events),
		&stopReporter{mgr.GetClient(), events, cfg.Log, stops.clock, map[apitypes.UID]bool{}},
	)...)
}

// addNodePlans adds the reconciler of NodePlans if the cluster has their CRD.
func addNodePlans(ctx context.Context, mgr manager.Manager, cfg Config, cluster string, prices func() *catalog.Catalog) error {
	installed, err := kube.Serves(mgr.GetRESTMapper(), lkeplanv1alpha1.GroupVersion.WithKind("NodePlan"))
	if err != nil || !installed || cfg.Only == Capacity {
		return err
	}
	if err := requireCRDs(mgr.GetRESTMapper(), "NodePlanRecord"); err != nil {
		return err
	}
	warnUnconfined(cfg)
	o := cfg.NodePlans
	o.Cluster, o.Prices = cluster, prices
	return gitops.Add(ctx, mgr, o)
}

// linodeMetrics are the metrics of the Linode API, registered on first use.
var linodeMetrics = sync.OnceValue(func() (m struct {
	duration *prometheus.HistogramVec
	waited   *prometheus.CounterVec
	refused  *prometheus.CounterVec
	left     *prometheus.GaugeVec
	limit    *prometheus.GaugeVec
}) {
	m.duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "lkeplan_linode_request_duration_seconds",
		Help:    "Duration of requests to the Linode API, by method, route and status (0: no answer).",
		Buckets: prometheus.ExponentialBuckets(0.02, 2, 11),
	}, []string{"method", "route", "status"})
	m.waited = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "lkeplan_linode_rate_limit_wait_seconds_total",
		Help: "Time for which requests to the Linode API were delayed because of its rate limits.",
	}, []string{"route"})
	m.refused = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "lkeplan_linode_rate_limited_total",
		Help: "Requests that the Linode API answered with 429.",
	}, []string{"route"})
	m.left = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "lkeplan_linode_rate_limit_remaining",
		Help: "Remaining requests in the rate limit of the Linode API, according to its last answer.",
	}, []string{"method", "route"})
	m.limit = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "lkeplan_linode_rate_limit",
		Help: "Requests per minute that the Linode API allows, according to its last answer.",
	}, []string{"method", "route"})
	crmetrics.Registry.MustRegister(m.duration, m.waited, m.refused, m.left, m.limit)
	return m
})

// observeLinode counts one request, and logs when the API asks for a pause.
func observeLinode(log *slog.Logger, call api.Call) {
	if call.Optional && call.Class == api.ClassAuth {
		return // tokens do not need it, and the alert about refused tokens uses these metrics
	}
	m := linodeMetrics()
	m.duration.WithLabelValues(call.Method, call.Route, strconv.Itoa(call.Status)).Observe(call.Duration.Seconds())
	m.waited.WithLabelValues(call.Route).Add(call.Waited.Seconds())
	if call.Status == http.StatusTooManyRequests {
		m.refused.WithLabelValues(call.Route).Inc()
		log.Warn("the Linode API asks for a pause; until then, the controller uses only what it knows about LKE",
			"route", call.Route, "asked", call.Asked.String(), "heeded", call.Paused.String())
	}
	if call.Left >= 0 {
		m.left.WithLabelValues(call.Method, call.Route).Set(float64(call.Left))
	}
	if call.Limit > 0 {
		m.limit.WithLabelValues(call.Method, call.Route).Set(float64(call.Limit))
	}
}

// registerMetrics registers the metrics of the machines of one cluster.
func registerMetrics(cfg Config, counters ...prometheus.Collector) error {
	if cfg.Karpenter.Quiet {
		return nil
	}
	for _, c := range counters {
		if err := crmetrics.Registry.Register(c); err != nil {
			return fmt.Errorf("register a metric: %w", err)
		}
	}
	return nil
}

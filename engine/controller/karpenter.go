package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/awslabs/operatorpkg/controller"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	k8sevents "k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/metrics"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/overlay"
	"sigs.k8s.io/karpenter/pkg/controllers"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	metricsnodepool "sigs.k8s.io/karpenter/pkg/controllers/metrics/nodepool"
	"sigs.k8s.io/karpenter/pkg/controllers/node/health"
	"sigs.k8s.io/karpenter/pkg/controllers/node/termination"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/lifecycle"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeoverlay"
	"sigs.k8s.io/karpenter/pkg/controllers/nodepool/validation"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/controllers/state/informer"
	staticdeprovisioning "sigs.k8s.io/karpenter/pkg/controllers/static/deprovisioning"
	staticprovisioning "sigs.k8s.io/karpenter/pkg/controllers/static/provisioning"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/state/cost"
	"sigs.k8s.io/karpenter/pkg/state/prediction"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/disrupt"
	"github.com/lkeplan/lkeplan/linode"
)

// Karpenter holds the settings of the embedded Karpenter. The zero value of a field is the default
// in its comment, which is Karpenter's default except for BatchMax.
type Karpenter struct {
	BatchIdle time.Duration // time without a new pod before nodes are planned; 1s
	BatchMax  time.Duration // the maximum of that wait; 2s
	Gates     options.FeatureGates

	RepairAfter time.Duration // how long a node must not be ready before it is replaced; linode.RepairAfter

	// Quiet omits the metrics and status controllers: Karpenter registers their collectors
	// globally, so a process can have them only once.
	Quiet bool
}

// longestBatch is how long Karpenter waits for more pods before it plans, at most. Its default of ten
// seconds saves calls with clouds that create each machine separately. Here a second batch costs only
// one more call, and later pods fill the nodes of the first batch. BenchmarkArrival compares the cost
// of the nodes.
const longestBatch = 2 * time.Second

// options returns the settings as Karpenter reads them from its context. Each field must be set here,
// because Karpenter has no defaults for zero values.
func (c Karpenter) options() *options.Options {
	o := &options.Options{
		BatchIdleDuration:                time.Second,
		BatchMaxDuration:                 longestBatch,
		CPURequests:                      1000,
		PreferencePolicy:                 options.PreferencePolicyRespect,
		MinValuesPolicy:                  options.MinValuesPolicyStrict,
		IgnoreDRARequests:                true,
		DisableClusterStateObservability: c.Quiet,
		FeatureGates:                     c.Gates,
	}
	if c.BatchIdle > 0 {
		o.BatchIdleDuration = c.BatchIdle
	}
	if c.BatchMax > 0 {
		o.BatchMaxDuration = c.BatchMax
	}
	return o
}

// addKarpenter adds Karpenter's controllers to a manager whose base context carries their options.
//
// Karpenter's operator package would parse the flags of this process, open ports and never release
// its lease (karpenter v1.15.0, pkg/operator/operator.go). Everything else that it does is done here,
// with the same order of decorators and the same list of controllers. addKarpenter returns the state
// of the cluster, which knows for which pods nodes are planned.
func addKarpenter(ctx context.Context, mgr manager.Manager, settings Karpenter, provider *linode.Provider,
	store *nodeoverlay.InstanceTypeStore, recorder k8sevents.EventRecorder) (*state.Cluster, error) {
	ctx = options.ToContext(ctx, settings.options())
	provider.RepairAfter = settings.RepairAfter
	clk := clock.RealClock{}
	stops := brake{mgr.GetClient(), mgr.GetAPIReader(), clk}
	static := newStaticPools(mgr.GetClient(), recorder, clk)
	static.brake = stops
	plain := metrics.Decorate(tellingProvider{provider, static.refused})
	overlaid := overlay.Decorate(plain, mgr.GetClient(), store)
	repairs, err := health.NewRepairPolicyMatcher(ctx, provider)
	if err != nil {
		return nil, err
	}
	cluster := state.NewCluster(clk, mgr.GetClient(), overlaid, state.WithRepairPolicyMatcher(repairs))
	static.cluster = cluster
	//lint:ignore SA1019 Karpenter's recorder needs this type
	karpenters := holdRecorder{events.NewRecorder(mgr.GetEventRecorderFor("karpenter")), stops}
	shown := claimClient{evictingClient{linode.WithoutStamps(mgr.GetClient()), stops}, provider.Region(), static}
	all := controllers.NewControllers(ctx, mgr, clk, shown, karpenters, overlaid, plain, cluster, store,
		prediction.NewStore(), controllers.WithoutVPAPrediction())
	var provisioner *provisioning.Provisioner
	all = slices.DeleteFunc(all, func(c controller.Controller) bool {
		switch c := c.(type) {
		case *validation.Controller: // linode.NodePools validates NodePools, by the rules of LKE too
			return true
		case *staticprovisioning.Controller:
			static.karpenter = c
			return true
		case *staticdeprovisioning.Controller:
			static.deprovisioning = staticdeprovisioning.NewController(startingClient{shown, stops}, cluster, overlaid, clk, karpenters)
			return true
		case *provisioning.Provisioner:
			provisioner = c
		case *disruption.Queue, *disruption.Controller, *informer.NodePoolController, *informer.NodeClaimController,
			*informer.PricingController, *metricsnodepool.Controller:
			return true // made again below, with a queue and methods that can be stopped, and with the costs that they share
		}
		return false
	})
	all = append(all, disruptionControllers(ctx, clk, shown, overlaid, karpenters, stops, provisioner, settings.Quiet)...)
	if settings.Gates.StaticCapacity {
		all = append(all, static)
	}
	for _, c := range all {
		p, ok := c.(*provisioning.Provisioner)
		if !ok {
			continue
		}
		static.plan = p.Trigger
		if settings.Gates.CapacityBuffer {
			all = append(all, &bufferTrigger{plan: p.Trigger})
		}
	}
	for _, c := range all {
		if err := registerControllers(withMoreWorkers(ctx, c), mgr, c); err != nil {
			return nil, err
		}
	}
	return cluster, nil
}

// disruptionControllers returns Karpenter's disruption controller and its queue, which start nothing while disruption is
// stopped, with methods that respect paid hours and maintenance, count nodes as staticPools does and wait after a
// failure, and the controllers that maintain the costs by which it scores moves (karpenter v1.15.0, pkg/controllers/controllers.go).
func disruptionControllers(ctx context.Context, clk clock.Clock, c claimClient, provider cloudprovider.CloudProvider,
	recorder events.Recorder, stops brake, p *provisioning.Provisioner, quiet bool) []controller.Controller {
	cluster := c.static.cluster
	queue := disruption.NewQueue(startingClient{c, stops}, recorder, cluster, clk, p)
	costs := cost.NewClusterCost(ctx, provider, c)
	methods := disruption.NewMethods(ctx, clk, cluster, c, p, provider, recorder, queue)
	for i, method := range methods {
		ours := disrupt.Gate(method, cluster, disrupt.LivePolicies(c), clk.Now)
		switch method.(type) {
		case *disruption.Repair:
			ours = repair{method, clk}
		case *disruption.StaticDrift:
			ours = countedDrift{ours, c.static}
		}
		methods[i] = newDelayed(ours, clk, stops)
	}
	all := []controller.Controller{
		queue,
		disruption.NewController(ctx, clk, c, p, provider, recorder, cluster, queue, costs, disruption.WithMethods(methods...)),
		informer.NewNodePoolController(c, provider, cluster, costs),
		informer.NewNodeClaimController(stateClient{c, provider, c.static}, provider, cluster, costs),
		informer.NewPricingController(c, provider, costs),
	}
	if !quiet {
		all = append(all, metricsnodepool.NewController(c, provider, costs))
	}
	return all
}

// claimClient creates NodeClaims with their finalizer. Karpenter would add it with a patch before it
// launches a machine. At the same time, another of its controllers adds the first conditions. The
// second patch is refused, and that of the finalizer is retried only after one second, then two, then
// four (karpenter v1.15.0, pkg/controllers/nodeclaim/lifecycle and
// pkg/controllers/nodeclaim/disruption).
//
// It also changes what Karpenter reads: NodePools have only existing zones, NodePools with replicas
// have the limit that staticPools sets, and pod templates have the values that their pods will have:
// see List.
type claimClient struct {
	client.Client
	region string
	static *staticPools
}

// Create implements client.Client.
func (c claimClient) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if nc, ok := o.(*karpv1.NodeClaim); ok {
		controllerutil.AddFinalizer(nc, karpv1.TerminationFinalizer)
	}
	err := c.Client.Create(ctx, o, opts...)
	if nc, ok := o.(*karpv1.NodeClaim); ok && (apierrors.IsInvalid(err) || apierrors.IsForbidden(err)) {
		c.reportRefused(ctx, nc, err)
	}
	return err
}

// reportRefused writes an event on the NodePool of a NodeClaim that the API server refuses. Karpenter only logs the
// error.
func (c claimClient) reportRefused(ctx context.Context, nc *karpv1.NodeClaim, err error) {
	pool := &karpv1.NodePool{}
	if c.Client.Get(ctx, client.ObjectKey{Name: nc.Labels[karpv1.NodePoolLabelKey]}, pool) != nil {
		return
	}
	why := err.Error()
	var refused apierrors.APIStatus
	if errors.As(err, &refused) && refused.Status().Details != nil && len(refused.Status().Details.Causes) > 0 {
		cause := refused.Status().Details.Causes[0] // without the random name of the claim
		why = cause.Field + ": " + cause.Message
	}
	c.static.events.Eventf(pool, nil, corev1.EventTypeWarning, linode.ReasonClaimRefused, "Provision",
		"the API server refuses the NodeClaims of the pool, so it gets no nodes: %s", diag.Shorten(why, mostSaid))
}

// withMoreWorkers returns the context in which a controller of Karpenter is registered. From the number of
// CPUs, Karpenter derives how many objects a controller processes concurrently. For NodeClaims and
// terminating Nodes, it also derives the retries per second from it: ten for one CPU (karpenter
// v1.15.0, GetTypedBucketConfigs in pkg/utils/controller). Conflicting writes cause retries, and a
// burst of hundreds of nodes has many of them. The other controllers keep one CPU, because more
// workers would only use memory.
func withMoreWorkers(ctx context.Context, c controller.Controller) context.Context {
	cpus := int64(1)
	switch c.(type) {
	case *lifecycle.Controller:
		cpus = 60 // 50 retries a second after the first 500, the maximum
	case *termination.Controller:
		cpus = 8 // 69 retries a second after the first 690
	default:
		return ctx
	}
	more := *options.FromContext(ctx)
	more.CPURequests = 1000 * cpus
	return options.ToContext(ctx, &more)
}

func registerControllers(ctx context.Context, mgr manager.Manager, all ...controller.Controller) error {
	for _, c := range all {
		if err := c.Register(ctx, mgr); err != nil {
			return fmt.Errorf("register controller %T: %w", c, err)
		}
	}
	return nil
}

// indexFields adds the field indexes that Karpenter uses (karpenter v1.15.0, setupIndexers in
// pkg/operator/operator.go, which is not exported).
func indexFields(ctx context.Context, indexer client.FieldIndexer) error {
	var none karpv1.NodeClassReference // indexes are computed in a goroutine of the cache, where a panic ends the process
	indexes := []struct {
		object client.Object
		field  string
		value  func(client.Object) string
	}{
		{&corev1.Pod{}, "spec.nodeName", func(o client.Object) string { return o.(*corev1.Pod).Spec.NodeName }},
		{&corev1.Node{}, "spec.providerID", func(o client.Object) string { return o.(*corev1.Node).Spec.ProviderID }},
		{&storagev1.VolumeAttachment{}, "spec.nodeName",
			func(o client.Object) string { return o.(*storagev1.VolumeAttachment).Spec.NodeName }},
		{&karpv1.NodeClaim{}, "status.providerID",
			func(o client.Object) string { return o.(*karpv1.NodeClaim).Status.ProviderID }},
		{&karpv1.NodeClaim{}, "spec.nodeClassRef.group",
			func(o client.Object) string { return ptr.Deref(o.(*karpv1.NodeClaim).Spec.NodeClassRef, none).Group }},
		{&karpv1.NodeClaim{}, "spec.nodeClassRef.kind",
			func(o client.Object) string { return ptr.Deref(o.(*karpv1.NodeClaim).Spec.NodeClassRef, none).Kind }},
		{&karpv1.NodeClaim{}, "spec.nodeClassRef.name",
			func(o client.Object) string { return ptr.Deref(o.(*karpv1.NodeClaim).Spec.NodeClassRef, none).Name }},
		{&karpv1.NodePool{}, "spec.template.spec.nodeClassRef.group",
			func(o client.Object) string {
				return ptr.Deref(o.(*karpv1.NodePool).Spec.Template.Spec.NodeClassRef, none).Group
			}},
		{&karpv1.NodePool{}, "spec.template.spec.nodeClassRef.kind",
			func(o client.Object) string {
				return ptr.Deref(o.(*karpv1.NodePool).Spec.Template.Spec.NodeClassRef, none).Kind
			}},
		{&karpv1.NodePool{}, "spec.template.spec.nodeClassRef.name",
			func(o client.Object) string {
				return ptr.Deref(o.(*karpv1.NodePool).Spec.Template.Spec.NodeClassRef, none).Name
			}},
	}
	for _, i := range indexes {
		extract := func(o client.Object) []string { return []string{i.value(o)} }
		if err := indexer.IndexField(ctx, i.object, i.field, extract); err != nil {
			return fmt.Errorf("index %T by %s: %w", i.object, i.field, err)
		}
	}
	return nil
}

// bufferTrigger makes Karpenter plan again when a NodeClaim has its machine. When Karpenter plans, it records by provider ID
// which nodes provide the capacity of a CapacityBuffer, and treats others without pods as empty (karpenter v1.15.0,
// Provisioner.Reconcile in pkg/controllers/provisioning). But a NodeClaim without a machine has a pending ID, and Karpenter
// plans for buffers only each 30 seconds: it would delete a node that joins before that.
type bufferTrigger struct {
	plan func(types.UID)
}

func (b *bufferTrigger) Register(_ context.Context, mgr manager.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("capacitybuffer.trigger").
		Watches(&karpv1.NodeClaim{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(predicate.Funcs{
			CreateFunc: func(event.CreateEvent) bool { return false },
			UpdateFunc: gotMachine,
			DeleteFunc: func(event.DeleteEvent) bool { return false },
		})).
		Complete(b)
}

// gotMachine reports whether a NodeClaim's provider id has changed to another.
func gotMachine(ev event.UpdateEvent) bool {
	was, okWas := ev.ObjectOld.(*karpv1.NodeClaim)
	is, okIs := ev.ObjectNew.(*karpv1.NodeClaim)
	return okWas && okIs && was.Status.ProviderID != "" && was.Status.ProviderID != is.Status.ProviderID
}

// Reconcile triggers Karpenter's planning, which waits shortly for further triggers.
func (b *bufferTrigger) Reconcile(_ context.Context, req ctrl.Request) (ctrl.Result, error) {
	b.plan(types.UID(req.Name))
	return ctrl.Result{}, nil
}

// List implements client.Client. NodePools can also allow zones in other regions, for example if one
// configuration is used for many clusters. Such zones are removed, as linode.Narrow describes.
//
// DaemonSets get what the API server adds to their pods. Karpenter plans with their templates until it
// has seen a pod, and ignores pod-level requests (kubernetes-sigs/karpenter#2383): nodes would be too
// small for them.
func (c claimClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.Client.List(ctx, list, opts...); err != nil {
		return err
	}
	switch list := list.(type) {
	case *karpv1.NodePoolList:
		for i := range list.Items {
			linode.Narrow(&list.Items[i], c.region)
			if _, _, err := c.static.show(ctx, &list.Items[i]); err != nil {
				return err
			}
		}
	case *appsv1.DaemonSetList:
		for i := range list.Items {
			simulate.DefaultPod(&list.Items[i].Spec.Template.Spec)
		}
	}
	return nil
}

// Get implements client.Client. The templates from which Karpenter creates the pods of a CapacityBuffer
// are changed as those of DaemonSets are.
func (c claimClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := c.Client.Get(ctx, key, o, opts...); err != nil {
		return err
	}
	switch o := o.(type) {
	case *corev1.PodTemplate:
		simulate.DefaultPod(&o.Template.Spec)
	case *appsv1.Deployment:
		simulate.DefaultPod(&o.Spec.Template.Spec)
	case *appsv1.StatefulSet:
		simulate.DefaultPod(&o.Spec.Template.Spec)
	case *appsv1.ReplicaSet:
		simulate.DefaultPod(&o.Spec.Template.Spec)
	}
	return nil
}

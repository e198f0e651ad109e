package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/awslabs/operatorpkg/controller"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	eventrecord "k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/isolate"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instance"
	"github.com/lkeplan/lkeplan/linode/instance/token"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/lke"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Part is the part of the controller's work that a process does. The processes of each part elect a
// separate leader.
type Part string

// The parts.
const (
	Everything Part = ""
	Capacity   Part = "capacity" // Karpenter and the Linode provider; has the Linode token
	GitOps     Part = "gitops"   // NodePlans; handles external input, and has no token
)

// process returns the name of a process of a part.
func (p Part) process() string {
	if p == GitOps {
		return "lkeplan-gitops"
	}
	return "lkeplan-controller"
}

// lease returns the Lease with which processes of a part elect their leader.
func (p Part) lease(shard labels.Selector) string {
	name := p.process()
	if shard != nil { // each shard has a leader
		sum := sha256.Sum256([]byte(shard.String()))
		name += "-" + hex.EncodeToString(sum[:4])
	}
	return name
}

// runGitOps reconciles the NodePlans of one cluster until ctx ends. It reads only public prices from
// Linode.
func runGitOps(ctx context.Context, cfg Config) error {
	instancetype.Register()
	if cfg.LinodeToken != "" {
		cfg.Log.Warn("a process with --only gitops needs no Linode API token; remove it")
	}
	if cfg.ClusterName == "" {
		return errors.New("no LKE cluster; with --only gitops, set CLUSTER_NAME to its label, as in cluster blocks")
	}
	mgr, err := newManager(&cfg, new(lease))
	if err != nil {
		return err
	}
	if err := requireCRDs(mgr.GetRESTMapper(), "NodePlan", "NodePlanRecord"); err != nil {
		return err
	}
	list, fresh := readCatalog(ctx, cfg)
	refresher := instancetype.NewRefresher(publicAPI{api.Root(cfg.LinodeURL)}, nil, list, fresh, cfg.Log)
	if err := mgr.Add(refresher); err != nil {
		return err
	}
	if err := addNodePlans(ctx, mgr, cfg, cfg.ClusterName, refresher.Prices); err != nil {
		return err
	}
	cfg.Log.Info("reconciling NodePlans of an LKE cluster", "cluster", cfg.ClusterName)
	// What plans compare with, and the nodes that they count.
	err = fillCache(ctx, mgr.GetCache(), &corev1.Node{}, &corev1.Pod{}, &policyv1.PodDisruptionBudget{}, &karpv1.NodeClaim{},
		&karpv1.NodePool{}, &linodev1alpha1.LinodeNodeClass{}, &lkeplanv1alpha1.CapacityLimit{},
		&lkeplanv1alpha1.DisruptionStop{})
	if err != nil {
		return err
	}
	return explainManager(mgr.Start(ctx), cfg)
}

// warnUnconfined logs what compile processes can access because this kernel lacks protection.
func warnUnconfined(cfg Config) {
	switch version := isolate.Landlock(); {
	case version == 0:
		cfg.Log.Warn("the kernel has no Landlock: a compromised compile process could read the files of this process, such as " +
			"its service account token, and use the network; see SECURITY.md")
	case version < 4:
		cfg.Log.Warn("the kernel's Landlock cannot restrict TCP: a compromised compile process could send what it reads; see " +
			"SECURITY.md")
	}
}

// The lease of the leader. A standby tries to acquire it every second, and has it within about two
// seconds of a clean stop. After a crash, the lease has to expire first.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = time.Second
	// leaseMargin is the time before the lease expires in which nothing is sent any more, because
	// a call takes time.
	leaseMargin = 3 * time.Second
)

// lease is the lease of the leader, and remembers when it was renewed. A process that was stopped, was
// frozen together with its machine, or got no CPU time continues where it was, although another may
// lead by then. Calls that change something at Linode check the lease first.
type lease struct {
	resourcelock.Interface // nil without leader election
	manager                manager.Manager

	mu       sync.Mutex
	renewed  time.Time // when the last successful renewal was requested
	returned bool      // the process has released it
}

// elect creates the lock of the leader election.
func (l *lease) elect(cfg Config) (err error) {
	l.Interface, err = leaderelection.NewResourceLock(rest.CopyConfig(cfg.Kube), l, leaderelection.Options{
		LeaderElection: true, LeaderElectionID: cfg.Only.lease(cfg.NodePlans.Shard),
		LeaderElectionNamespace: cfg.LeaderElectionNamespace, RenewDeadline: renewDeadline,
	})
	return err
}

// Create implements resourcelock.Interface.
func (l *lease) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, r, l.Interface.Create)
}

// Update implements resourcelock.Interface.
func (l *lease) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, r, l.Interface.Update)
}

func (l *lease) write(ctx context.Context, r resourcelock.LeaderElectionRecord,
	send func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	asked := time.Now()
	if err := send(ctx, r); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed, l.returned = asked, r.HolderIdentity == ""
	return nil
}

// Held returns an error if another process may lead by now. Without leader election it returns nil.
func (l *lease) Held() error {
	if l.Interface == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewed.IsZero() || l.returned {
		return errors.New("this process does not lead")
	}
	// The wall clock continues while a machine is frozen, and can be set; the monotonic clock does
	// neither.
	since := max(time.Since(l.renewed), time.Now().Round(0).Sub(l.renewed.Round(0)))
	if since > leaseDuration-leaseMargin {
		return fmt.Errorf("the lease was renewed %s ago, and another process may lead by now", since.Round(time.Second))
	}
	return nil
}

// GetEventRecorderFor implements recorder.Provider: the lock is created before the manager that
// publishes its events.
func (l *lease) GetEventRecorderFor(string) eventrecord.EventRecorder { return l }

// GetEventRecorder implements recorder.Provider.
func (l *lease) GetEventRecorder(name string) events.EventRecorder {
	return l.manager.GetEventRecorder(name)
}

// Event implements record.EventRecorder.
func (l *lease) Event(about runtime.Object, kind, reason, message string) {
	l.Eventf(about, kind, reason, "%s", message)
}

// Eventf implements record.EventRecorder.
func (l *lease) Eventf(about runtime.Object, kind, reason, format string, args ...any) {
	l.AnnotatedEventf(about, nil, kind, reason, format, args...)
}

// AnnotatedEventf implements record.EventRecorder.
func (l *lease) AnnotatedEventf(about runtime.Object, more map[string]string, kind, reason, format string,
	args ...any) {
	if l.manager != nil {
		//lint:ignore SA1019 the lock of the election writes only events of the old API
		l.manager.GetEventRecorderFor("lkeplan").AnnotatedEventf(about, more, kind, reason, format, args...)
	}
}

// mode is a way to get machines: what the provider needs for it, and further controllers.
type mode struct {
	name        string // as in the annotation of classes
	orders      linode.Orders
	machines    linode.Machines
	rules       linode.Rules
	refused     func(context.Context, *karpv1.NodePool) string
	full        linode.Full                   // nil: no NodePool is full as far as this mode knows
	ours        func(node client.Object) bool // whether a Node is its machine and shows what its plan type has
	controllers []controller.Controller
	metrics     []prometheus.Collector
}

func modeOf(ctx context.Context, mgr manager.Manager, cfg Config, linodes *account, chooser *linode.Chooser,
	events events.EventRecorder) (mode, error) {
	if cfg.Instances {
		return instanceMode(ctx, mgr, cfg, linodes, chooser, events)
	}
	return lkeMode(mgr, cfg, linodes, chooser, events), nil
}

// lkeMode gets machines from the node pools of an LKE cluster.
func lkeMode(mgr manager.Manager, cfg Config, linodes *account, chooser *linode.Chooser,
	events events.EventRecorder) mode {
	c, cluster, types := mgr.GetClient(), linodes.cluster, chooser.Types
	control := lke.NewControlPlane(linodes.api, cluster, types, cfg.Log)
	var roster *lke.Roster
	if cfg.NodeAdmission != "" {
		namespace, name, _ := strings.Cut(cfg.NodeAdmission, "/")
		roster = lke.NewRoster(c, cluster.ID, namespace, name)
	}
	machines := lke.NewSyncer(lke.SyncerConfig{
		API: linodes.api, Cluster: cluster, ControlPlane: control,
		Claims: lke.NewNodeClaims(c, mgr.GetAPIReader(), events, chooser.Replan),
		Nodes:  nodeclaim.NewNodes(c), Types: types, Roster: roster, Timing: cfg.Timing, Log: cfg.Log,
	})
	provider := lke.New(c, types, cluster.ID, catalog.Tier(cluster.Tier), machines)
	return mode{
		orders: provider, machines: provider, refused: provider.Refused,
		rules: lke.NewClasses(c, cluster, control, linodes.api, events),
		ours:  func(node client.Object) bool { return lke.IsNode(cluster.ID, node.GetName()) },
		controllers: []controller.Controller{
			lke.NewTrigger(c, machines),
			lke.NewEarlyBinder(c, cluster.ID, machines),
			nodeclaim.NewOwnerReferenceRemover(c, func(node string) bool { return lke.IsNode(cluster.ID, node) }),
		},
		metrics: machines.Metrics(),
	}
}

// instanceMode gets machines as separate Linodes, which join the cluster themselves.
func instanceMode(ctx context.Context, mgr manager.Manager, cfg Config, linodes *account, chooser *linode.Chooser,
	events events.EventRecorder) (mode, error) {
	c, live := mgr.GetClient(), mgr.GetAPIReader()
	identity, err := instance.IdentityOf(ctx, live, linodes.cluster.Label)
	if err != nil {
		return mode{}, err
	}
	if others, err := identity.Others(ctx, linodes.api); err != nil {
		cfg.Log.Warn("cannot check the account for Linodes of another cluster with this name", "error", err)
	} else if others > 0 {
		cfg.Log.Warn("the account has Linodes of another cluster with this name, which are ignored but billed: find out who "+
			"uses them, and delete them if they are unused", "linodes", others, "tag", identity.NameTag(),
			"without", identity.Tag())
	}
	linodes.kept.keep(ctx, cfg, linodes.cluster, identity.Tag())
	tokens := token.New(live, c)
	joins := instance.Joins{Live: live, Tokens: tokens, Endpoint: cfg.ClusterEndpoint, Namespace: ownNamespace(cfg)}
	machines := instance.New(instance.Config{
		Client: c, Live: live, API: linodes.api, Identity: identity, Types: chooser.Types, Joins: joins,
		Events: events, Log: cfg.Log,
		Timing: cfg.Timing,
	})
	orders := instance.NewOrders(c, machines)
	return mode{
		name: linodev1alpha1.ModeInstance, orders: orders, machines: machines, full: orders.Full,
		rules:   instance.NewClasses(linodes.api, linodes.cluster.Region, joins),
		refused: func(context.Context, *karpv1.NodePool) string { return "" },
		ours:    machines.Ours,
		controllers: []controller.Controller{
			instance.NewTrigger(machines),
			instance.NewRejoiner(machines),
			token.NewApprover(c, nodeclaim.Writer{Client: c, Events: events}, identity.Node, machines.Reported),
			token.NewController(tokens, live),
			nodeclaim.NewOwnerReferenceRemover(c, identity.IsNode),
		},
		metrics: machines.Metrics(),
	}, nil
}

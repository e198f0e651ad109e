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

	"github.com/lkeplan/lkeplan/engine/confine"
	"github.com/lkeplan/lkeplan/engine/trace/otlp"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instance"
	"github.com/lkeplan/lkeplan/linode/instance/token"
	"github.com/lkeplan/lkeplan/linode/lke"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Part is what a process does of the controller's work. Two processes of one part
// each elect their own leaders.
type Part string

// The parts.
const (
	Everything Part = ""
	Capacity   Part = "capacity" // Karpenter and the Linode provider; has the Linode token
	GitOps     Part = "gitops"   // NodePlans: has what comes from outside, and no token
)

// process is what a process of a part is called.
func (p Part) process() string {
	if p == GitOps {
		return "lkeplan-gitops"
	}
	return "lkeplan-controller"
}

// lease is the Lease that processes of a part elect their leader by.
func (p Part) lease(shard labels.Selector) string {
	name := p.process()
	if shard != nil { // each shard has a leader
		sum := sha256.Sum256([]byte(shard.String()))
		name += "-" + hex.EncodeToString(sum[:4])
	}
	return name
}

// traced is where traces of this process go, and what it is called there.
func (c Config) traced() otlp.Options {
	return otlp.Options{Endpoint: c.TraceEndpoint, Service: c.Only.process(), Version: c.Release}
}

// runGitOps reconciles the NodePlans of one cluster until ctx ends. It asks Linode for
// public prices only.
func runGitOps(ctx context.Context, cfg Config) error {
	linode.Register()
	if cfg.LinodeToken != "" {
		cfg.Log.Warn("a process with --only gitops needs no Linode API token; take it away")
	}
	if cfg.ClusterName == "" {
		return errors.New("no LKE cluster; with --only gitops set CLUSTER_NAME to its label, as cluster blocks name it")
	}
	mgr, err := newManager(cfg, new(lease))
	if err != nil {
		return err
	}
	if err := requireCRDs(mgr.GetRESTMapper(), "NodePlan", "NodePlanRecord"); err != nil {
		return err
	}
	prices, _ := readCatalog(ctx, cfg)
	if err := addNodePlans(ctx, mgr, cfg, cfg.ClusterName, prices); err != nil {
		return err
	}
	cfg.Log.Info("reconciling NodePlans of an LKE cluster", "cluster", cfg.ClusterName)
	// What plans are compared with, and the nodes that they count.
	err = warm(ctx, mgr.GetCache(), &corev1.Node{}, &corev1.Pod{}, &policyv1.PodDisruptionBudget{}, &karpv1.NodeClaim{},
		&karpv1.NodePool{}, &linodev1alpha1.LinodeNodeClass{}, &lkeplanv1alpha1.CapacityLimit{})
	if err != nil {
		return err
	}
	return explainManager(mgr.Start(ctx), cfg)
}

// warnUnconfined says once what children can reach on this kernel that they must not.
func warnUnconfined(cfg Config) {
	switch version := confine.Landlock(); {
	case version == 0:
		cfg.Log.Warn("the kernel has no Landlock: what fetches and compiles sources could read the files of this process, " +
			"such as the token of its service account; see SECURITY.md")
	case version < 4:
		cfg.Log.Warn("the Landlock of the kernel knows no ports: what fetches sources could connect to others than that of " +
			"its server; see SECURITY.md")
	}
}

// The lease of the leader. A standby asks for it every second, and has it within about two
// seconds of a clean stop. After a crash it has to expire first.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = time.Second
	// leaseMargin is how long before its end nothing is sent any more: a call takes its time.
	leaseMargin = 3 * time.Second
)

// lease is the lease of the leader, which remembers when it was renewed. A process that was
// stopped, was frozen with its machine, or got no processor goes on where it was, and
// another may lead by then: what changes something at Linode asks here first.
type lease struct {
	resourcelock.Interface // nil where no leader is elected
	manager                manager.Manager

	mu       sync.Mutex
	renewed  time.Time // when the last renewal that succeeded was asked for
	returned bool      // the process has given it back
}

// elect makes the lock that leaders are elected by.
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

// Held is an error where another may lead by now. Where no leader is elected it is nil.
func (l *lease) Held() error {
	if l.Interface == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewed.IsZero() || l.returned {
		return errors.New("this process does not lead")
	}
	// The wall clock goes on while a machine is frozen, and may be set; the other does neither.
	since := max(time.Since(l.renewed), time.Now().Round(0).Sub(l.renewed.Round(0)))
	if since > leaseDuration-leaseMargin {
		return fmt.Errorf("the lease was renewed %s ago, and another may lead by now", since.Round(time.Second))
	}
	return nil
}

// GetEventRecorderFor implements recorder.Provider: the lock is made before the manager that
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
		//lint:ignore SA1019 the lock of the election writes events of the old API only
		l.manager.GetEventRecorderFor("lkeplan").AnnotatedEventf(about, more, kind, reason, format, args...)
	}
}

// mode is a way to get machines: what the provider takes of it, and the controllers that it
// needs besides.
type mode struct {
	name        string // as the annotation of classes has it
	orders      linode.Orders
	machines    listing
	rules       linode.Rules
	refused     func(context.Context, *karpv1.NodePool) string
	full        linode.Full                   // nil where NodePools have room until somebody else says otherwise
	ours        func(node client.Object) bool // whether a Node is one of its machines, and tells what its plan type has
	controllers []controller.Controller
	metrics     []prometheus.Collector
}

// listing are machines, and what the last list lacked.
type listing interface {
	linode.Machines
	Missing(instance int) bool
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

// instanceMode gets machines as Linodes of their own, which join by themselves.
func instanceMode(ctx context.Context, mgr manager.Manager, cfg Config, linodes *account, chooser *linode.Chooser,
	events events.EventRecorder) (mode, error) {
	c, live := mgr.GetClient(), mgr.GetAPIReader()
	identity, err := instance.IdentityOf(ctx, live, linodes.cluster.Label)
	if err != nil {
		return mode{}, err
	}
	if others, err := identity.Others(ctx, linodes.api); err != nil {
		cfg.Log.Warn("the account cannot be asked for Linodes of another cluster of this name", "error", err)
	} else if others > 0 {
		cfg.Log.Warn("the account has Linodes of another cluster of this name, which are left alone and cost: see who runs "+
			"them, and delete them where nobody does", "linodes", others, "tag", identity.NameTag(), "without", identity.Tag())
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

package controller

import (
	"context"
	"strings"

	"github.com/awslabs/operatorpkg/controller"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instance"
	"github.com/lkeplan/lkeplan/linode/instance/token"
	"github.com/lkeplan/lkeplan/linode/lke"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

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

// modeOf is the mode of the settings.
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
	orders := instance.NewOrders(c)
	return mode{
		name: linodev1alpha1.ModeInstance, orders: orders, machines: machines, full: orders.Full,
		rules:   instance.NewClasses(linodes.api, linodes.cluster.Region, joins),
		refused: func(context.Context, *karpv1.NodePool) string { return "" },
		ours:    machines.Ours,
		controllers: []controller.Controller{
			instance.NewTrigger(machines),
			instance.NewRejoiner(machines),
			token.NewApprover(c, nodeclaim.Writer{Client: c, Events: events}, identity.Node),
			token.NewController(tokens, live),
			nodeclaim.NewOwnerReferenceRemover(c, identity.IsNode),
		},
		metrics: machines.Metrics(),
	}, nil
}

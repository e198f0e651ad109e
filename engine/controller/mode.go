package controller

import (
	"strings"

	"github.com/awslabs/operatorpkg/controller"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/claims"
	"github.com/lkeplan/lkeplan/linode/earlybind"
	"github.com/lkeplan/lkeplan/linode/fleet"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// mode is a way to get machines: what the provider takes of it, and the controllers that it
// needs besides.
type mode struct {
	name        string // as the annotation of classes has it
	orders      linode.Orders
	machines    listing
	rules       linode.Rules
	refused     func(*karpv1.NodePool) []linode.Problem
	ours        func(node client.Object) bool // whether a Node is one of its machines, and tells what its plan type has
	controllers []controller.Controller
	metrics     []prometheus.Collector
}

// listing are machines, and what the last list lacked.
type listing interface {
	linode.Machines
	Missing(instance int) bool
}

// lkeMode gets machines from the node pools of an LKE cluster.
func lkeMode(mgr manager.Manager, cfg Config, linodes *account, chooser *linode.Chooser, events events.EventRecorder) mode {
	c, cluster, types := mgr.GetClient(), linodes.cluster, chooser.Types
	control := fleet.NewControlPlane(linodes.api, cluster, types, cfg.Log)
	var roster *fleet.Roster
	if cfg.NodeAdmission != "" {
		namespace, name, _ := strings.Cut(cfg.NodeAdmission, "/")
		roster = fleet.NewRoster(c, cluster.ID, namespace, name)
	}
	machines := fleet.New(fleet.Config{
		API: linodes.api, Cluster: cluster, ControlPlane: control,
		Claims: fleet.NewNodeClaims(c, mgr.GetAPIReader(), events, chooser.Replan),
		Nodes:  claims.NewNodes(c), Types: types, Roster: roster, Timing: cfg.Timing, Log: cfg.Log,
	})
	lke := linode.NewLKE(c, types, cluster.ID, catalog.Tier(cluster.Tier), machines)
	return mode{
		orders: lke, machines: lke, refused: linode.PoolProblems,
		rules: linode.NewLKEClasses(c, cluster, control, linodes.api, events),
		ours:  func(node client.Object) bool { return nodeclaim.IsNode(cluster.ID, node.GetName()) },
		controllers: []controller.Controller{
			fleet.NewTrigger(c, machines),
			earlybind.NewController(c, cluster.ID, machines),
			earlybind.NewDisowner(c, cluster.ID),
		},
		metrics: machines.Metrics(),
	}
}

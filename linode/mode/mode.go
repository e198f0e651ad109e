// Package mode describes the two ways in which a cluster gets its machines: from the node pools of an LKE cluster,
// or as Linodes that join it one by one (instance mode). Of(tier) returns the Mode for simulations and rules about
// configurations, so that they need to know neither of the two. It sends no requests, and assumes that everything
// that a class refers to exists.
package mode

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instance"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/lke"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Mode is a way to get machines.
type Mode interface {
	// Orders returns the orders for machines. A new one has no memory.
	Orders(c client.Client, types *instancetype.Set) linode.Orders
	// ClassProblem says why no machine can be created from a class; "" if one can.
	ClassProblem(spec linodev1alpha1.LinodeNodeClassSpec) string
	// PoolProblems returns what LKE would refuse of a pool.
	PoolProblems(pool *karpv1.NodePool) []lke.Problem
	// Refused returns the same in one line; "" for nothing.
	Refused(pool *karpv1.NodePool) string
	// Suppose sets on a class what a controller would look up, as if all that it names existed.
	Suppose(class *linodev1alpha1.LinodeNodeClass)
	// StandIn returns a class that replaces an unknown class and counts as ready.
	StandIn(name string) *linodev1alpha1.LinodeNodeClass
	// DaemonSets returns the DaemonSets that run on each node in addition to those of users, and whether they are
	// known.
	DaemonSets() (sets []*appsv1.DaemonSet, known bool)
	// Provider names who runs these DaemonSets.
	Provider() string
}

// Of returns the mode of a cluster of a tier.
func Of(tier catalog.Tier) Mode {
	if tier == catalog.Instances {
		return instanceMode{}
	}
	return lkeMode{tier.LKE()}
}

// lkeMode is the mode of an LKE cluster.
type lkeMode struct{ tier catalog.Tier }

func (p lkeMode) Orders(c client.Client, types *instancetype.Set) linode.Orders {
	return lke.New(c, types, 0, p.tier, noPools{})
}

func (p lkeMode) ClassProblem(spec linodev1alpha1.LinodeNodeClassSpec) string {
	return lke.ClassProblem(spec, p.tier)
}

func (lkeMode) PoolProblems(pool *karpv1.NodePool) []lke.Problem { return lke.PoolProblems(pool) }

func (lkeMode) Refused(pool *karpv1.NodePool) string { return lke.Refused(pool) }

func (lkeMode) Suppose(class *linodev1alpha1.LinodeNodeClass) {
	class.Status.KubernetesVersion = ptr.Deref(class.Spec.LKEK8sVersion, "simulated")
}

func (lkeMode) StandIn(name string) *linodev1alpha1.LinodeNodeClass { return newClass(name) }

func (p lkeMode) DaemonSets() (sets []*appsv1.DaemonSet, known bool) {
	if p.tier != catalog.Standard {
		return nil, false
	}
	return lke.DaemonSets(), true
}

func (lkeMode) Provider() string { return "LKE" }

// instanceMode is the mode of Linodes that join a cluster one by one.
type instanceMode struct{}

func (instanceMode) Orders(c client.Client, _ *instancetype.Set) linode.Orders {
	return instance.NewOrders(c, nil)
}

func (instanceMode) ClassProblem(spec linodev1alpha1.LinodeNodeClassSpec) string {
	return instance.Problem(spec)
}

func (instanceMode) PoolProblems(*karpv1.NodePool) []lke.Problem { return nil }

func (instanceMode) Refused(*karpv1.NodePool) string { return "" }

func (instanceMode) Suppose(class *linodev1alpha1.LinodeNodeClass) {
	by := ptr.Deref(class.Spec.Select, linodev1alpha1.Selection{})
	if class.Status.Selected == nil || class.Status.Selected.By != by {
		class.Status.Selected = new(instance.Suppose(class.Spec))
	}
}

func (instanceMode) StandIn(name string) *linodev1alpha1.LinodeNodeClass {
	class := newClass(name)
	class.Spec.Image = "unknown"
	return class
}

func (instanceMode) DaemonSets() (sets []*appsv1.DaemonSet, known bool) { return nil, true }

func (instanceMode) Provider() string { return "the cluster" }

func newClass(name string) *linodev1alpha1.LinodeNodeClass {
	class := &linodev1alpha1.LinodeNodeClass{}
	class.Name = name
	return class
}

// noPools is LKE without any machines.
type noPools struct{ lke.PoolSource }

// Traits implements lke.PoolSource.
func (noPools) Traits(int) (capacity.Traits, bool) { return capacity.Traits{}, false }

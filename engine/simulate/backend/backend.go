// Package backend says how machines are made in a simulated cluster: in node pools of LKE, or
// as Linodes of their own.
//
// It asks nobody: what a class names of an account is taken to be there.
package backend

import (
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instances"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// A Backend makes the machines of clusters of a tier.
type Backend struct{ Tier catalog.Tier }

// Orders are what machines are made from. New ones remember nothing.
func (b Backend) Orders(c client.Client, types *instancetype.Set) linode.Orders {
	if b.Tier == catalog.Instances {
		return instances.NewOrders(c)
	}
	return linode.NewLKE(c, types, 0, b.Tier.LKE(), unseen{})
}

// Problem says why no machine is made of a class; "" where one is.
func (b Backend) Problem(spec linodev1alpha1.LinodeNodeClassSpec) string {
	if b.Tier == catalog.Instances {
		return instances.Problem(spec)
	}
	return linode.ClassProblem(spec, b.Tier.LKE())
}

// Refused is what is refused of a pool.
func (b Backend) Refused(pool *karpv1.NodePool) []linode.Problem {
	if b.Tier == catalog.Instances {
		return nil
	}
	return linode.PoolProblems(pool)
}

// Settle writes on a class what a controller would find out of what it names.
func (b Backend) Settle(class *linodev1alpha1.LinodeNodeClass) {
	if b.Tier != catalog.Instances {
		class.Status.KubernetesVersion = ptr.Deref(class.Spec.LKEK8sVersion, "simulated")
		return
	}
	by := ptr.Deref(class.Spec.Select, linodev1alpha1.Selection{})
	if class.Status.Selected == nil || class.Status.Selected.By != by {
		class.Status.Selected = new(instances.Suppose(class.Spec))
	}
}

// StandIn is a class that is not known, and taken for one that is ready.
func (b Backend) StandIn(name string) *linodev1alpha1.LinodeNodeClass {
	class := &linodev1alpha1.LinodeNodeClass{}
	class.Name = name
	if b.Tier == catalog.Instances {
		class.Spec.Image = "unknown"
	}
	return class
}

// Whose DaemonSets there are besides those of the owners.
func (b Backend) Whose() string {
	if b.Tier == catalog.Instances {
		return "the cluster"
	}
	return "LKE"
}

// unseen is LKE, of whose machines nothing is known.
type unseen struct{ linode.Fleet }

// Traits implements linode.Fleet.
func (unseen) Traits(int) (capacity.Traits, bool) { return capacity.Traits{}, false }

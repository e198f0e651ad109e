package linode

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/capacity"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Why a node is replaced, beside the reasons of the core.
const (
	// NodeClassDrifted: the LinodeNodeClass asks for other nodes now.
	NodeClassDrifted cloudprovider.DriftReason = "NodeClassDrift"
	// VersionDrifted: the control plane, or the class, has another Kubernetes
	// version now. On Enterprise clusters only.
	VersionDrifted cloudprovider.DriftReason = "KubernetesVersionDrift"
	// PoolDrifted: somebody changed the LKE node pool so that its nodes are not
	// what was asked for, and LKE cannot change them back in place.
	PoolDrifted cloudprovider.DriftReason = "LKEPoolDrift"
)

// IsDrifted implements CloudProvider. Hashes of different versions are not
// compared: the class controller stamps such claims anew. What can be put right
// in place is no drift, the Fleet does it.
func (p *Provider) IsDrifted(ctx context.Context, nc *karpv1.NodeClaim) (cloudprovider.DriftReason, error) {
	var class linodev1alpha1.LinodeNodeClass
	if err := p.client.Get(ctx, client.ObjectKey{Name: nc.Spec.NodeClassRef.Name}, &class); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	if nc.Annotations[linodev1alpha1.AnnotationHashVersion] != linodev1alpha1.HashVersion {
		return "", nil
	}
	if nc.Annotations[linodev1alpha1.AnnotationHash] != class.Hash() {
		return NodeClassDrifted, nil
	}
	group, err := capacity.DecodeGroup(nc.Annotations[AnnotationGroup])
	if err != nil {
		return "", nil // made by another provider: nothing is known of what it asked for
	}
	if want := p.version(&class); group.Version != "" && want != "" && group.Version != want {
		return VersionDrifted, nil
	}
	if traits, seen := p.fleet.traits(instanceOf(nc.Status.ProviderID)); seen && !group.CanHold(traits) {
		return PoolDrifted, nil
	}
	return "", nil
}

// version is the Kubernetes version that nodes of a class are to have: the
// class's, else the control plane's. On standard clusters LKE has no versions of
// pools.
func (p *Provider) version(class *linodev1alpha1.LinodeNodeClass) string {
	if class.Spec.LKEK8sVersion != nil {
		return *class.Spec.LKEK8sVersion
	}
	return p.fleet.Version()
}

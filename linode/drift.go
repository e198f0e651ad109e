package linode

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/disruption"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Reasons to replace a node, besides those of Karpenter.
const (
	// NodeClassDrifted: the LinodeNodeClass has changed in a way that needs new nodes.
	NodeClassDrifted cloudprovider.DriftReason = "NodeClassDrift"
	// VersionDrifted: the LinodeNodeClass names another Kubernetes version than the
	// node has, the control plane has that version, and it is the NodePool's turn.
	VersionDrifted cloudprovider.DriftReason = "KubernetesVersionDrift"
	// PoolDrifted: the LKE node pool is such that its nodes are not what was asked
	// for, and LKE cannot change it in place.
	PoolDrifted cloudprovider.DriftReason = "LKEPoolDrift"
)

// IsDrifted implements CloudProvider. Hashes of different versions are not
// compared: the controller of classes writes the new hash on such claims. What the
// Fleet can correct in place is no drift.
func (p *Provider) IsDrifted(ctx context.Context, nc *karpv1.NodeClaim) (cloudprovider.DriftReason, error) {
	var class linodev1alpha1.LinodeNodeClass
	if err := p.chooser.Client.Get(ctx, client.ObjectKey{Name: nc.Spec.NodeClassRef.Name}, &class); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	if nc.Annotations[linodev1alpha1.AnnotationHashVersion] != linodev1alpha1.HashVersion {
		return "", nil
	}
	if nc.Annotations[linodev1alpha1.AnnotationHash] != class.Hash() {
		return NodeClassDrifted, nil
	}
	return p.chooser.Orders.Drifted(ctx, nc, &class)
}

// Drifted implements Orders.
func (l *LKE) Drifted(ctx context.Context, nc *karpv1.NodeClaim, class *linodev1alpha1.LinodeNodeClass) (
	cloudprovider.DriftReason, error) {
	if drifted, err := l.upgrades.versionDrifted(ctx, nc, class); drifted || err != nil {
		return VersionDrifted, err
	}
	group, err := capacity.DecodeGroup(nc.Annotations[nodeclaim.AnnotationGroup])
	if err != nil {
		return "", nil // another provider made it: its group is not known
	}
	if traits, known := l.fleet.Traits(nodeclaim.InstanceOf(nc.Status.ProviderID)); known && !group.CanKeep(traits) {
		return PoolDrifted, nil
	}
	return "", nil
}

// RolledBy is the revision that has made a node drift for a reason, as far as a note on its
// pool or its class says; either may be nil.
func RolledBy(reason string, pool *karpv1.NodePool, class *linodev1alpha1.LinodeNodeClass) (manifest.RolledBy, bool) {
	switch cloudprovider.DriftReason(reason) {
	case disruption.NodePoolDrifted, disruption.RequirementsDrifted:
		if pool != nil {
			return manifest.ReadRolledBy(pool.Annotations, pool.Spec.Template)
		}
	case NodeClassDrifted, VersionDrifted:
		if class != nil {
			return manifest.ReadRolledBy(class.Annotations, class.Spec)
		}
	}
	return manifest.RolledBy{}, false
}

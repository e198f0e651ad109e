package linode

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/disruption"

	"github.com/lkeplan/lkeplan/linode/maintenance"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// IsDrifted implements CloudProvider. Hashes of different versions are not
// compared: the controller of classes writes the new hash on such claims. What the
// Syncer can correct in place is no drift.
func (p *Provider) IsDrifted(ctx context.Context, nc *karpv1.NodeClaim) (cloudprovider.DriftReason, error) {
	if !nodeclaim.Managed(nc) {
		return "", nil
	}
	var class linodev1alpha1.LinodeNodeClass
	if err := p.chooser.Client.Get(ctx, client.ObjectKey{Name: nc.Spec.NodeClassRef.Name}, &class); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	if nc.Annotations[linodev1alpha1.AnnotationHashVersion] != linodev1alpha1.HashVersion {
		return "", nil
	}
	if nc.Annotations[linodev1alpha1.AnnotationHash] != class.Hash() {
		return nodeclaim.NodeClassDrifted, nil
	}
	if reason, err := p.chooser.Orders.Drifted(ctx, nc, &class); reason != "" || err != nil {
		return reason, err
	}
	if class.Spec.ReplaceBeforeMaintenance != nil && nc.Annotations[maintenance.AnnotationReplace] != "" {
		return nodeclaim.MaintenanceDrifted, nil
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
	case nodeclaim.NodeClassDrifted, nodeclaim.VersionDrifted:
		if class != nil {
			return manifest.ReadRolledBy(class.Annotations, class.Spec)
		}
	}
	return manifest.RolledBy{}, false
}

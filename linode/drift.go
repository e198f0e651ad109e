package linode

import (
	"context"
	"maps"

	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/disruption"

	"github.com/lkeplan/lkeplan/linode/age"
	"github.com/lkeplan/lkeplan/linode/inplace"
	"github.com/lkeplan/lkeplan/linode/maintenance"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// IsDrifted implements CloudProvider. Hashes of different versions are not compared, because the controller of
// classes writes the new hash on such claims. Differences that the Syncer can correct in place are not drift.
func (p *Provider) IsDrifted(ctx context.Context, nc *karpv1.NodeClaim) (cloudprovider.DriftReason, error) {
	if !nodeclaim.Managed(nc) {
		return "", nil
	}
	if drifted, err := p.templateDrifted(ctx, nc); drifted || err != nil {
		return disruption.NodePoolDrifted, err
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
	return p.agedOut(ctx, nc)
}

// agedOut returns the reason to replace a node that has reached the age at which its NodePool replaces nodes.
func (p *Provider) agedOut(ctx context.Context, nc *karpv1.NodeClaim) (cloudprovider.DriftReason, error) {
	pool, err := p.chooser.nodePool(ctx, nc)
	if pool == nil || err != nil {
		return "", client.IgnoreNotFound(err)
	}
	after, err := age.After(pool)
	if err != nil || after == 0 || p.Now().Before(age.Due(nc.CreationTimestamp.Time, nc.Name, after)) {
		return "", nil // an invalid value is a condition of the NodePool
	}
	return nodeclaim.AgeDrifted, nil
}

// templateDrifted reports whether a claim was created from another template of its NodePool, except for labels and
// annotations that change in place. It replaces Karpenter's comparison of stamps (karpenter v1.15.0,
// areStaticFieldsDrifted), which WithoutStamps prevents: Karpenter would replace all nodes between the change of a
// NodePool and the change of the stamps of its claims. As with Karpenter, a NodePool whose stamp has another hash
// version is compared by its stamp.
func (p *Provider) templateDrifted(ctx context.Context, nc *karpv1.NodeClaim) (bool, error) {
	pool, err := p.chooser.nodePool(ctx, nc)
	if pool == nil || err != nil {
		return false, client.IgnoreNotFound(err)
	}
	poolStamp, stamped := pool.Annotations[karpv1.NodePoolHashAnnotationKey]
	stamp, created := nc.Annotations[karpv1.NodePoolHashAnnotationKey]
	version := nc.Annotations[karpv1.NodePoolHashVersionAnnotationKey]
	switch {
	case !stamped || !created || version == "" || version != pool.Annotations[karpv1.NodePoolHashVersionAnnotationKey]:
		return false, nil
	case version != karpv1.NodePoolHashVersion:
		return stamp != poolStamp, nil
	}
	return inplace.TemplateOf(pool).Drifted(nc.Labels, nc.Annotations), nil
}

// WithoutStamps returns a client for Karpenter's controllers that reads single NodePools without Karpenter's stamp, so
// that Karpenter leaves their comparison with NodeClaims to Provider.IsDrifted. Karpenter's hash controller, which
// writes the stamp, reads NodePools with the client of its manager.
func WithoutStamps(c client.Client) client.Client { return unstamped{c} }

type unstamped struct{ client.Client }

// Get implements client.Client.
func (u unstamped) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := u.Client.Get(ctx, key, o, opts...)
	if pool, ok := o.(*karpv1.NodePool); ok && err == nil {
		pool.Annotations = maps.Clone(pool.Annotations) // caches may share the object
		delete(pool.Annotations, karpv1.NodePoolHashAnnotationKey)
	}
	return err
}

// RolledBy returns the revision that has made a node drift for a reason, if its pool or its class has a note of it;
// either may be nil.
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

package instancetype

import (
	"errors"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// csiRegion is the topology key of the Linode CSI driver: every volume that it creates has a node affinity with
// this key (linode-blockstorage-csi-driver, VolumeTopologyRegion).
const csiRegion = "topology.linode.com/region"

// Register adds the labels and resources of Linode plan types to those that the linked Karpenter knows, and the kinds
// LinodeNodeClass and CapacityLimit to client-go's scheme. Karpenter keeps labels in package variables that it reads
// without a lock, so Register must be called before any code of Karpenter runs. Further calls do nothing.
func Register() { register() }

var register = sync.OnceFunc(func() {
	karpv1.RestrictedLabelDomains.Insert(linodev1alpha1.Group)
	karpv1.WellKnownLabels.Insert(linodev1alpha1.PlanLabels()...)
	karpv1.WellKnownResources.Insert(ResourceGPU, ResourceVPU)
	// Without this a pod with a bound volume fits no NodePool.
	karpv1.NormalizedLabels[csiRegion] = corev1.LabelTopologyRegion
	if err := errors.Join(linodev1alpha1.AddToScheme(scheme.Scheme), lkeplanv1alpha1.AddToScheme(scheme.Scheme)); err != nil {
		panic(err) // it never fails
	}
})

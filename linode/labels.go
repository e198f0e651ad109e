package linode

import (
	"errors"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// resourceGPU is what pods ask for when they need a GPU of a Linode plan.
const resourceGPU corev1.ResourceName = "nvidia.com/gpu"

// resourceVPU is what they ask for when they need a video card of an accelerated
// plan: what NETINT's device plugin calls the Quadra cards that Linode has.
const resourceVPU corev1.ResourceName = "netint.ca/Quadra"

// csiRegion is the topology key of the Linode CSI driver: every volume it makes
// carries a node affinity on it (linode-blockstorage-csi-driver,
// VolumeTopologyRegion).
const csiRegion = "topology.linode.com/region"

// Register tells the linked Karpenter core of the labels and resources of
// Linode plans and of the kinds LinodeNodeClass and CapacityLimit. The core keeps them in package
// variables that it reads without a lock, the kinds in client-go's scheme: call
// Register before anything of Karpenter runs. Further calls do nothing.
func Register() { register() }

var register = sync.OnceFunc(func() {
	karpv1.RestrictedLabelDomains.Insert(linodev1alpha1.Group)
	karpv1.WellKnownLabels.Insert(linodev1alpha1.PlanLabels()...)
	karpv1.WellKnownResources.Insert(resourceGPU, resourceVPU)
	// Without this a pod with a bound volume fits no NodePool.
	karpv1.NormalizedLabels[csiRegion] = corev1.LabelTopologyRegion
	if err := errors.Join(linodev1alpha1.AddToScheme(scheme.Scheme), lkeplanv1alpha1.AddToScheme(scheme.Scheme)); err != nil {
		panic(err) // it never fails
	}
})

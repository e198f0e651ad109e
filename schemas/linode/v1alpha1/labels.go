package v1alpha1

// Labels that describe a plan type. The provider sets them on NodeClaims; NodePools and pods select by them. The
// names are those of karpenter-provider-linode (its docs/CONFIGURATION.md, "Well-Known Labels").
const (
	LabelInstanceCPU                = Group + "/instance-cpu"                       // vCPUs
	LabelInstanceMemory             = Group + "/instance-memory"                    // MiB
	LabelInstanceDisk               = Group + "/instance-disk"                      // MiB
	LabelInstanceTransfer           = Group + "/instance-transfer"                  // GB a month
	LabelInstanceNetworkOut         = Group + "/instance-network-out"               // Mbit/s
	LabelInstanceClass              = Group + "/instance-class"                     // standard, dedicated, gpu, ...
	LabelInstanceGeneration         = Group + "/instance-generation"                // 6 of g6-standard-2
	LabelInstanceGPUCount           = Group + "/instance-gpu-count"                 // absent on plan types without a GPU
	LabelInstanceGPUName            = Group + "/instance-gpu-name"                  // rtx6000; absent without a GPU
	LabelInstanceAcceleratedDevices = Group + "/instance-accelerated-devices-count" // absent on plan types without one
)

// PlanLabels returns every label that describes a plan type, in the order above.
func PlanLabels() []string {
	return []string{
		LabelInstanceCPU, LabelInstanceMemory, LabelInstanceDisk, LabelInstanceTransfer, LabelInstanceNetworkOut,
		LabelInstanceClass, LabelInstanceGeneration, LabelInstanceGPUCount, LabelInstanceGPUName,
		LabelInstanceAcceleratedDevices,
	}
}

// Annotations by which drift of a NodeClaim from its class is detected.
const (
	AnnotationHash        = Group + "/linodenodeclass-hash"
	AnnotationHashVersion = Group + "/linodenodeclass-hash-version"
)

// AnnotationCluster, which the controller writes on each LinodeNodeClass, has the id and the label of the LKE
// cluster, such as 584692/prod. It shows whether a directory is for another cluster.
const AnnotationCluster = "lkeplan.dev/lke-cluster"

// ConfigMapCluster is the ConfigMap, next to its Lease, in which the controller records its cluster: id,
// label, region, tier and version. In instance mode the tier is instance, there is neither id nor version,
// and the tag is that of the cluster's Linodes.
const ConfigMapCluster = "lkeplan-cluster"

// Finalizer keeps a LinodeNodeClass while NodeClaims use it.
const Finalizer = Group + "/termination"

// AnnotationRegion, which the controller writes on each LinodeNodeClass, has the region of the LKE cluster,
// the only region of its nodes.
const AnnotationRegion = "lkeplan.dev/lke-region"

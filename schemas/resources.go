package schemas

// The resources of nodes, as limits name them. Resources of other devices have names with a slash.
const (
	CPU              = "cpu"
	Memory           = "memory"
	EphemeralStorage = "ephemeral-storage"
	Pods             = "pods"
	Nodes            = "nodes" // counts the nodes themselves
	GPU              = "nvidia.com/gpu"
	VPU              = "netint.ca/Quadra"
)

// nodeResources are the resources that limit a pool, and podResources those that limit a buffer.
var (
	nodeResources = []string{CPU, Memory, Nodes, Pods, EphemeralStorage, GPU, VPU}
	podResources  = []string{CPU, Memory, EphemeralStorage, GPU, VPU}
)

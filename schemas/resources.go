package schemas

// The resources that nodes have, as limits name them. Those of other devices have
// names of their own, with a slash.
const (
	CPU              = "cpu"
	Memory           = "memory"
	EphemeralStorage = "ephemeral-storage"
	Pods             = "pods"
	Nodes            = "nodes" // counts the nodes themselves
	GPU              = "nvidia.com/gpu"
	VPU              = "netint.ca/Quadra"
)

// nodeResources and podResources are what the nodes of a pool, and room for pods,
// can be limited by.
var (
	nodeResources = []string{CPU, Memory, Nodes, Pods, EphemeralStorage, GPU, VPU}
	podResources  = []string{CPU, Memory, EphemeralStorage, GPU, VPU}
)

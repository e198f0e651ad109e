package catalog

// Resources are amounts in the units that a node reports them in.
type Resources struct {
	MilliCPU       int64
	MemoryBytes    int64
	EphemeralBytes int64
	Pods           int64
	GPUs           int64
}

// NodeResources is what a node reports: its capacity and its allocatable part.
type NodeResources struct {
	Capacity, Allocatable Resources
}

const (
	kib = int64(1) << 10
	mib = int64(1) << 20

	// evictionMemory is kept back by the kubelet's default evictionHard; LKE reserves nothing else. Both recorded
	// nodes show exactly this difference.
	evictionMemory = 100 * mib
	// podsPerNode is the kubelet's default; LKE gives each node a /25.
	podsPerNode = 110
)

// recordedMemory and recordedDisk hold what the recorded nodes reported as their capacity, in KiB, by the size of
// their plan in MiB: g6-standard-1 under Kubernetes 1.32.1 and g6-standard-2 under 1.35.1. That other plans of the same
// size report the same is an inference.
var (
	recordedMemory = map[int]int64{2048: 2027296, 4096: 4022024}
	recordedDisk   = map[int]int64{51200: 51524172, 81920: 82470344}
)

// Reported returns what a node of this plan reports on LKE. It is exact for the two sizes whose nodes were
// recorded; for others it is a fit through those two (4.1 % of the memory for firmware and kernel, 1.7 % of the disk
// for the file system), which is an assumption: the scheduler keeps a margin until a node was seen. It is the
// one place that holds this model; the simulator's nodes report it as well.
//
// Unverified: memory and disk of plans of other sizes than the two.
func (p Plan) Reported() NodeResources {
	capacity := Resources{
		MilliCPU:       int64(p.VCPUs) * 1000,
		MemoryBytes:    p.memoryCapacity(),
		EphemeralBytes: p.diskCapacity(),
		Pods:           podsPerNode,
		GPUs:           int64(p.GPUs),
	}
	allocatable := capacity
	allocatable.MemoryBytes = max(0, capacity.MemoryBytes-evictionMemory)
	allocatable.EphemeralBytes = capacity.EphemeralBytes - evictionDisk(capacity.EphemeralBytes)
	return NodeResources{Capacity: capacity, Allocatable: allocatable}
}

func (p Plan) memoryCapacity() int64 {
	if recorded, ok := recordedMemory[p.MemoryMiB]; ok {
		return recorded * kib
	}
	plan := int64(p.MemoryMiB) * mib / kib
	lost := max(68*mib/kib, plan*41/1000)
	return max(0, plan-lost) * kib
}

func (p Plan) diskCapacity() int64 {
	if recorded, ok := recordedDisk[p.DiskMiB]; ok {
		return recorded * kib
	}
	return int64(p.DiskMiB) * mib / kib * 983 / 1000 * kib
}

// evictionDisk returns the tenth that evictionHard nodefs.available keeps back. The kubelet holds percentages as
// float32, which is why the recorded nodes are some bytes off a true tenth.
func evictionDisk(capacity int64) int64 {
	return int64(float64(capacity) * float64(float32(0.1)))
}

package schemas

// A Key is the short name of a label in requirements.
type Key struct {
	Name  string
	Label string
	Unit  Unit
	Doc   string
}

// Unit is the unit of a label whose values are amounts.
type Unit int

// The units of labels. A quantity such as "8Gi" becomes 8192 in a MiB label, the unit in which
// Linode states memory and disk. The values of a Count label are whole numbers.
const (
	NoUnit Unit = iota
	MiB
	Count
)

// Labels that compiled pools always have or that messages mention.
const (
	CapacityTypeLabel = "karpenter.sh/capacity-type"
	ZoneLabel         = "topology.kubernetes.io/zone"
	RegionLabel       = "topology.kubernetes.io/region"
)

// Keys returns the short names, sorted. The provider sets the labels under karpenter.k8s.linode on
// its instance types and nodes.
func Keys() []Key {
	return []Key{
		{Name: "accelerated_devices", Label: NodeClassGroup + "/instance-accelerated-devices-count", Unit: Count,
			Doc: "The number of accelerator cards."},
		{Name: "arch", Label: "kubernetes.io/arch", Doc: `The processor architecture; on Linode "amd64".`},
		{Name: "capacity_type", Label: CapacityTypeLabel,
			Doc: `The billing model; on Linode "on-demand", which is added to each pool. Null omits it, as in ` +
				`pools that were not created by lkeplan.`},
		{Name: "class", Label: NodeClassGroup + "/instance-class",
			Doc: `The class of the plan type: "standard", "dedicated", "premium", "highmem", "gpu" or "accelerated".`},
		{Name: "cpu", Label: NodeClassGroup + "/instance-cpu", Unit: Count, Doc: "The number of virtual CPUs."},
		{Name: "disk", Label: NodeClassGroup + "/instance-disk", Unit: MiB,
			Doc: `The size of the disk, such as "80Gi".`},
		{Name: "generation", Label: NodeClassGroup + "/instance-generation",
			Doc: `The generation of the plan type: 6 for "g6-standard-2".`},
		{Name: "gpu_count", Label: NodeClassGroup + "/instance-gpu-count", Unit: Count, Doc: "The number of GPUs."},
		{Name: "gpu_name", Label: NodeClassGroup + "/instance-gpu-name",
			Doc: `The GPU model, such as "rtx4000_ada".`},
		{Name: "instance_type", Label: "node.kubernetes.io/instance-type", Doc: `The plan type, such as ` +
			`"g6-dedicated-8".`},
		{Name: "memory", Label: NodeClassGroup + "/instance-memory", Unit: MiB, Doc: `The memory, such as "8Gi".`},
		{Name: "network_out", Label: NodeClassGroup + "/instance-network-out", Unit: Count,
			Doc: "The outgoing bandwidth in Mbit/s."},
		{Name: "os", Label: "kubernetes.io/os", Doc: `The operating system; on Linode "linux".`},
		{Name: "region", Label: RegionLabel, Doc: `The Linode region, such as "us-ord".`},
		{Name: "transfer", Label: NodeClassGroup + "/instance-transfer", Unit: Count, Doc: "The monthly transfer in GB."},
		{Name: "zone", Label: ZoneLabel, Doc: "The zone. LKE has one zone in each region, with the same name as " +
			"the region."},
	}
}

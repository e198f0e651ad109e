package schemas

// A Key is the short name of a label that requirements can use.
type Key struct {
	Name  string
	Label string
	Unit  Unit
	Doc   string
}

// Unit says how a label counts, for keys whose values are amounts.
type Unit int

// The units of labels. A quantity such as "8Gi" is written into a MiB label as
// 8192, which is how Linode states memory and disk.
const (
	NoUnit Unit = iota
	MiB
)

// The labels that compiled pools always carry or that messages speak of.
const (
	CapacityTypeLabel = "karpenter.sh/capacity-type"
	ZoneLabel         = "topology.kubernetes.io/zone"
	RegionLabel       = "topology.kubernetes.io/region"
)

// Keys lists the short names, sorted. Labels under karpenter.k8s.linode are
// those the provider puts on its instance types and nodes.
func Keys() []Key {
	return []Key{
		{Name: "accelerated_devices", Label: NodeClassGroup + "/instance-accelerated-devices-count",
			Doc: "The number of accelerator cards."},
		{Name: "arch", Label: "kubernetes.io/arch", Doc: `The processor architecture; on Linode "amd64".`},
		{Name: "capacity_type", Label: CapacityTypeLabel,
			Doc: `How the machine is paid for; on Linode "on-demand", which every pool asks for. Null leaves it ` +
				`out, as in pools made elsewhere.`},
		{Name: "class", Label: NodeClassGroup + "/instance-class",
			Doc: `The plan's class: "standard", "dedicated", "premium", "highmem", "gpu", "accelerated".`},
		{Name: "cpu", Label: NodeClassGroup + "/instance-cpu", Doc: "The number of virtual CPUs."},
		{Name: "disk", Label: NodeClassGroup + "/instance-disk", Unit: MiB,
			Doc: `The size of the disk, such as "80Gi".`},
		{Name: "generation", Label: NodeClassGroup + "/instance-generation",
			Doc: `The plan's generation: 6 for "g6-standard-2".`},
		{Name: "gpu_count", Label: NodeClassGroup + "/instance-gpu-count", Doc: "The number of GPUs."},
		{Name: "gpu_name", Label: NodeClassGroup + "/instance-gpu-name",
			Doc: `The GPU's model, such as "rtx4000_ada".`},
		{Name: "instance_type", Label: "node.kubernetes.io/instance-type", Doc: `The plan, such as "g6-dedicated-8".`},
		{Name: "memory", Label: NodeClassGroup + "/instance-memory", Unit: MiB, Doc: `The memory, such as "8Gi".`},
		{Name: "network_out", Label: NodeClassGroup + "/instance-network-out",
			Doc: "The outgoing bandwidth in Mbit/s."},
		{Name: "os", Label: "kubernetes.io/os", Doc: `The operating system; on Linode "linux".`},
		{Name: "region", Label: RegionLabel, Doc: `The Linode region, such as "us-ord".`},
		{Name: "transfer", Label: NodeClassGroup + "/instance-transfer", Doc: "The monthly transfer in GB."},
		{Name: "zone", Label: ZoneLabel, Doc: "The zone. LKE has one zone in each region, of the region's name."},
	}
}

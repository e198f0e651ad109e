package schemas

// NodeClassGroup is the API group of LinodeNodeClass, as pools refer to it.
const NodeClassGroup = "karpenter.k8s.linode"

// NodeClass is a LinodeNodeClass. Its fields have the names that Linode's published provider uses,
// whose manifests apply to our controller unchanged. The Modes of an argument say where it has an
// effect.
var NodeClass = Block{
	Type:   "node_class",
	Labels: []string{"name"},
	Doc:    "The configuration of machines. Compiles to a LinodeNodeClass.",
	Object: &Object{APIVersion: NodeClassGroup + "/v1", Kind: "LinodeNodeClass"},
	Args: []Arg{
		objectName,
		{Name: "tags", Path: "spec.tags", Kind: Tags, Doc: "Linode tags of the machines, 3 to 50 characters each."},
		{Name: "firewall_id", Path: "spec.firewallID", Kind: ID,
			Doc: "The id of the Cloud Firewall of the machines. On LKE, it has an effect on the Enterprise tier " +
				"only."},
		{Name: "kubernetes_version", Path: "spec.lkeK8sVersion", Kind: String, Default: "kubernetes_version of the cluster",
			Modes: Modes{NotInstances: "The image contains the kubelet."},
			Doc: `The Kubernetes version of the nodes: "v1.33.4+lke2" on LKE Enterprise, "1.33" on the standard ` +
				`tier. A change replaces the nodes with another version.`},
		{Name: "disk_encryption", Path: "spec.diskEncryption", Kind: String, Default: "LKE's default",
			Doc: `Whether the disks are encrypted: "enabled" or "disabled".`},
		{Name: "replace_before_maintenance", Path: "spec.replaceBeforeMaintenance", Kind: Duration,
			Default: "nodes are not replaced for it",
			Doc: "If Linode announces maintenance of the host of a node, the node is replaced this long before the " +
				`maintenance, such as "24h", within the disruption budgets of its pool. The Linode API token needs the ` +
				"scope account:read_only."},

		{Name: "image", Path: "spec.image", Kind: String, Modes: onInstances,
			Doc: `The id of the image to boot: "linode/debian12" or "private/123". It must contain cloud-init ` +
				`and the programs that bootstrap needs.`},
		labelOf("image", "image", "The label or a tag of a private image that is available in the region. If "+
			"several match, the newest is used."),
		labelOf("firewall", "firewall", "The label of a Cloud Firewall."),
		{Name: "authorized_keys", Path: "spec.authorizedKeys", Kind: Tags, Modes: onInstances, Doc: "SSH public keys for " +
			"root."},
		{Name: "authorized_users", Path: "spec.authorizedUsers", Kind: Tags, Modes: onInstances,
			Doc: "Linode users whose SSH keys are installed for root."},
		{Name: "backups_enabled", Path: "spec.backupsEnabled", Kind: Bool, Modes: onInstances,
			Doc: "Whether the Linode Backups service is enabled. lkeplan does not know its price."},
		{Name: "swap_size", Path: "spec.swap_size", Kind: Number, Default: "no swap", Modes: onInstances,
			Doc: "The size of the swap disk in MiB. With kubeadm, set fail_swap_on of kubelet to false, unless " +
				"the cluster's kubelet-config does."},
		{Name: "vpc_id", Path: "spec.vpcID", Kind: ID, Modes: onInstances, Doc: "The id of the VPC that the " +
			"machine joins."},
		labelOf("vpc", "vpc", "The label of a VPC in the region."),
		{Name: "subnet_id", Path: "spec.subnetID", Kind: ID, Modes: onInstances, Doc: "The id of a subnet of the " +
			"VPC."},
		labelOf("subnet", "subnet", "The label of a subnet of the VPC."),
		labelOf("placement_group", "placementGroup", "The label of a placement group in the region."),
		{Name: "kernel", Path: "spec.configuration.kernel", Kind: String, Modes: onInstances,
			Doc: `The kernel to boot, such as "linode/latest-64bit".`},
		forEach, enabled, manifest,
	},
	Blocks: []Block{consolidation, kubelet, placementGroup, bootstrap, ipv6, osDisk, dataDisk, Metadata},
}

// labelOf names a resource of the account by its label instead of its id, so one class can serve
// many regions. The controller looks up the id.
func labelOf(thing, field, doc string) Arg {
	return Arg{Name: thing + "_label", Path: "spec.select." + field, Kind: String, Modes: onInstances, Doc: doc}
}

var consolidation = Block{
	Type: "consolidation",
	Path: "spec.consolidation",
	Doc: "Limits the consolidation of nodes of the class. The disruption block of a pool defines whether nodes are " +
		"consolidated at all.",
	Args: []Arg{
		{Name: "before_paid_hour_ends", Path: "beforePaidHourEnds", Kind: Duration, Default: "at any time",
			Doc: "Linode bills whole hours. A node can be removed to save money only in this time before the end of each of " +
				"its paid hours: \"10m\" to \"60m\"."},
		{Name: "minimum_monthly_saving", Path: "minimumMonthlySaving", Kind: Money, Default: "any saving",
			Doc: "The minimum saving, in US dollars a month, for which pods are moved to other nodes."},
	},
}

var bootstrap = Block{
	Type:  "bootstrap",
	Path:  "spec.bootstrap",
	Modes: onInstances,
	Doc:   "How the machine joins the cluster. Without this block, it uses kubeadm.",
	Args: []Arg{
		{Name: "kind", Path: "kind", Kind: String, Required: true, Doc: `The method: "kubeadm", "k3s" or "custom".`},
		{Name: "user_data_secret", Path: "userDataSecret", Kind: String,
			Doc: `The Secret in the controller's namespace whose key userData is the template of the user data. ` +
				`Used with "custom".`},
	},
}

var kubelet = Block{
	Type:  "kubelet",
	Path:  "spec.kubelet",
	Modes: onInstances,
	Doc:   "Settings of the kubelet. Resources that they reserve are not available to pods.",
	Args: []Arg{
		{Name: "max_pods", Path: "maxPods", Kind: Number, Default: "110", Doc: "The maximum number of pods on a " +
			"node."},
		{Name: "pods_per_core", Path: "podsPerCore", Kind: Number,
			Doc: "The maximum number of pods on a node for each of its CPUs."},
		{Name: "system_reserved", Path: "systemReserved", Kind: Quantities,
			Doc: "Resources reserved for the operating system."},
		{Name: "kube_reserved", Path: "kubeReserved", Kind: Quantities,
			Doc: "Resources reserved for Kubernetes processes."},
		{Name: "eviction_hard", Path: "evictionHard", Kind: StringMap,
			Doc: `Thresholds below which pods are evicted immediately, such as { "memory.available" = "100Mi" }.`},
		{Name: "eviction_soft", Path: "evictionSoft", Kind: StringMap,
			Doc: "Thresholds below which pods are evicted after a grace period."},
		{Name: "eviction_soft_grace_period", Path: "evictionSoftGracePeriod", Kind: StringMap,
			Doc: "The grace period of each soft threshold."},
		{Name: "eviction_max_pod_grace_period", Path: "evictionMaxPodGracePeriod", Kind: Number,
			Doc: "The longest grace period, in seconds, of a pod that is evicted by a soft threshold."},
		{Name: "cluster_dns", Path: "clusterDNS", Kind: Strings, Doc: "The addresses of the cluster's DNS servers."},
		{Name: "cpu_cfs_quota", Path: "cpuCFSQuota", Kind: Bool, Doc: "Whether CPU limits of containers are " +
			"enforced."},
		{Name: "fail_swap_on", Path: "failSwapOn", Kind: Bool, Default: "true; false with k3s",
			Doc: "Whether the kubelet refuses to start while swap is on. Pods never use swap."},
	},
}

var placementGroup = Block{
	Type:  "placement_group",
	Path:  "spec.placementGroup",
	Modes: onInstances,
	Doc: "The placement group in which the machine is created: an existing group, by id or by " +
		"placement_group_label, or one group for each pool. A group holds at most five machines.",
	Args: []Arg{
		{Name: "id", Path: "id", Kind: ID, Doc: "The id of the placement group."},
		{Name: "per_pool", Path: "perPool.policy", Kind: String,
			Doc: `Creates a group for each pool of the class, with this policy. "strict" does not create a ` +
				`machine that would share a host with another machine of its group; "flexible" does. A group is ` +
				`deleted after its pool and the pool's nodes.`},
		{Name: "compliant_only", Path: "compliant_only", Kind: Bool,
			Doc: "Whether a machine that would violate the group's policy is refused."},
	},
}

var ipv6 = Block{
	Type:  "ipv6",
	Path:  "spec.ipv6Options",
	Modes: onInstances,
	Doc:   "IPv6 settings.",
	Args: []Arg{
		{Name: "slaac", Path: "enableSLAAC", Kind: Bool, Doc: "Whether the machine configures its address with " +
			"SLAAC."},
		{Name: "ranges", Path: "enableRanges", Kind: Bool, Doc: "Whether the machine gets a range of addresses."},
		{Name: "public", Path: "isPublicIPv6", Kind: Bool, Doc: "Whether its range is reachable from the internet."},
	},
}

var osDisk = Block{
	Type:  "os_disk",
	Path:  "spec.osDisk",
	Modes: onInstances,
	Doc:   "The disk of the operating system.",
	Args:  fromImage(disk),
}

// fromImage returns the arguments of a disk that is created from the image. Only its size can be
// set.
func fromImage(args []Arg) (of []Arg) {
	for _, arg := range args {
		if arg.Name != "size" {
			arg.Modes = Modes{NoEffectOnLKE: true, NotInstances: "The disk is created from the image."}
		}
		of = append(of, arg)
	}
	return of
}

var dataDisk = Block{
	Type:   "data_disk",
	Labels: []string{"device"},
	Path:   "spec.dataDisks",
	Modes:  Modes{NoEffectOnLKE: true, NotInstances: "Linodes are created with one disk and swap."},
	Doc:    `A further disk, labelled with its device: "sdb" to "sdh".`,
	Args:   disk,
}

var disk = []Arg{
	{Name: "size", Path: "size", Kind: String, Numeric: true, Required: true, Doc: `The size, such as "20Gi".`},
	{Name: "label", Path: "label", Kind: String, Default: "the device's name", Doc: "The label of the disk."},
	{Name: "filesystem", Path: "filesystem", Kind: String, Default: "ext4",
		Doc: `The file system of the disk: "ext4", "ext3", "raw", "swap" or "initrd".`},
	{Name: "disk_id", Path: "diskID", Kind: ID, Doc: "The Linode id of the disk."},
}

package schemas

// NodeClassGroup is the API group of LinodeNodeClass, as pools refer to it.
const NodeClassGroup = "karpenter.k8s.linode"

// NodeClass is a LinodeNodeClass. Field names are those of the provider
// Linode publishes, whose manifests apply to our controller unchanged. In which mode
// each has an effect, its Modes say.
var NodeClass = Block{
	Type:   "node_class",
	Labels: []string{"name"},
	Doc:    "How machines are set up. Compiles to a LinodeNodeClass.",
	Object: &Object{APIVersion: NodeClassGroup + "/v1", Kind: "LinodeNodeClass"},
	Args: []Arg{
		objectName,
		{Name: "tags", Path: "spec.tags", Kind: Tags, Doc: "Linode tags of the machines, 3 to 50 characters each."},
		{Name: "firewall_id", Path: "spec.firewallID", Kind: ID,
			Doc: "The Cloud Firewall the machines are put behind. On LKE it has an effect on the tier Enterprise only."},
		{Name: "kubernetes_version", Path: "spec.lkeK8sVersion", Kind: String, Default: "kubernetes_version of the cluster",
			Modes: Modes{NotInstances: "The kubelet is the image's."},
			Doc: `The nodes' Kubernetes version: "v1.33.4+lke2" on LKE Enterprise, "1.33" on the standard tier. ` +
				"A change replaces the nodes that have another."},
		{Name: "disk_encryption", Path: "spec.diskEncryption", Kind: String, Default: "LKE's default",
			Doc: `Whether the disks are encrypted: "enabled" or "disabled".`},

		{Name: "image", Path: "spec.image", Kind: String, Modes: onInstances,
			Doc: `The image to boot, by its id: "linode/debian12" or "private/123". It has cloud-init, and what bootstrap takes.`},
		labelOf("image", "image", "The label or a tag of a private image that the region has; of several the newest."),
		labelOf("firewall", "firewall", "The label of a Cloud Firewall."),
		{Name: "authorized_keys", Path: "spec.authorizedKeys", Kind: Tags, Modes: onInstances, Doc: "SSH public keys for root."},
		{Name: "authorized_users", Path: "spec.authorizedUsers", Kind: Tags, Modes: onInstances,
			Doc: "Linode users whose SSH keys are put on the machine."},
		{Name: "backups_enabled", Path: "spec.backupsEnabled", Kind: Bool, Modes: onInstances,
			Doc: "Whether Linode backs the machine up, for a price that lkeplan does not know."},
		{Name: "swap_size", Path: "spec.swap_size", Kind: Number, Default: "no swap", Modes: onInstances,
			Doc: "The size of the swap disk in MiB. With kubeadm, set fail_swap_on of kubelet to false, unless the cluster's kubelet-config does."},
		{Name: "vpc_id", Path: "spec.vpcID", Kind: ID, Modes: onInstances, Doc: "The VPC the machine joins."},
		labelOf("vpc", "vpc", "The label of a VPC of the region."),
		{Name: "subnet_id", Path: "spec.subnetID", Kind: ID, Modes: onInstances, Doc: "The subnet of the VPC."},
		labelOf("subnet", "subnet", "The label of a subnet of the VPC."),
		labelOf("placement_group", "placementGroup", "The label of a placement group of the region."),
		{Name: "kernel", Path: "spec.configuration.kernel", Kind: String, Modes: onInstances,
			Doc: `The kernel to boot, such as "linode/latest-64bit".`},
		forEach, enabled, manifest,
	},
	Blocks: []Block{kubelet, placementGroup, bootstrap, ipv6, osDisk, dataDisk, Metadata},
}

// labelOf names a thing of the account by its label, in place of its number: one class then
// serves many regions. The controller looks it up.
func labelOf(thing, field, doc string) Arg {
	return Arg{Name: thing + "_label", Path: "spec.select." + field, Kind: String, Modes: onInstances, Doc: doc}
}

var bootstrap = Block{
	Type:  "bootstrap",
	Path:  "spec.bootstrap",
	Modes: onInstances,
	Doc:   "How the machine joins the cluster. Left out, kubeadm is used.",
	Args: []Arg{
		{Name: "kind", Path: "kind", Kind: String, Required: true, Doc: `What it joins by: "kubeadm", "k3s" or "custom".`},
		{Name: "user_data_secret", Path: "userDataSecret", Kind: String,
			Doc: `With "custom": the Secret in the controller's namespace whose key userData is the template of the user data.`},
	},
}

var kubelet = Block{
	Type:  "kubelet",
	Path:  "spec.kubelet",
	Modes: onInstances,
	Doc:   "Settings of the kubelet. What they reserve is not offered to pods.",
	Args: []Arg{
		{Name: "max_pods", Path: "maxPods", Kind: Number, Default: "110", Doc: "The number of pods a node can run."},
		{Name: "pods_per_core", Path: "podsPerCore", Kind: Number,
			Doc: "The number of pods a node can run for each of its CPUs."},
		{Name: "system_reserved", Path: "systemReserved", Kind: Quantities,
			Doc: "What is kept back for the operating system."},
		{Name: "kube_reserved", Path: "kubeReserved", Kind: Quantities,
			Doc: "What is kept back for Kubernetes' own processes."},
		{Name: "eviction_hard", Path: "evictionHard", Kind: StringMap,
			Doc: `Thresholds below which pods are evicted at once, such as { "memory.available" = "100Mi" }.`},
		{Name: "eviction_soft", Path: "evictionSoft", Kind: StringMap,
			Doc: "Thresholds below which pods are evicted after a grace period."},
		{Name: "eviction_soft_grace_period", Path: "evictionSoftGracePeriod", Kind: StringMap,
			Doc: "The grace period of each soft threshold."},
		{Name: "eviction_max_pod_grace_period", Path: "evictionMaxPodGracePeriod", Kind: Number,
			Doc: "The longest grace period of a pod evicted by a soft threshold, in seconds."},
		{Name: "cluster_dns", Path: "clusterDNS", Kind: Strings, Doc: "The addresses of the cluster's DNS servers."},
		{Name: "cpu_cfs_quota", Path: "cpuCFSQuota", Kind: Bool, Doc: "Whether CPU limits of containers are enforced."},
		{Name: "fail_swap_on", Path: "failSwapOn", Kind: Bool, Default: "true, with k3s false",
			Doc: "Whether the kubelet refuses to start while swap is on. Pods do not use swap in either case."},
	},
}

var placementGroup = Block{
	Type:  "placement_group",
	Path:  "spec.placementGroup",
	Modes: onInstances,
	Doc: "The placement group the machine is made in: of that id, which placement_group_label names, or one " +
		"for each pool. It takes five machines.",
	Args: []Arg{
		{Name: "id", Path: "id", Kind: ID, Doc: "The group's id."},
		{Name: "per_pool", Path: "perPool.policy", Kind: String,
			Doc: `Makes a group for each pool of the class, with that policy: with "strict" a machine that would share a host ` +
				`with another of its group is not made, with "flexible" it is. A group goes when its pool and the pool's ` +
				`nodes have.`},
		{Name: "compliant_only", Path: "compliant_only", Kind: Bool,
			Doc: "Whether a machine that would break the group's rule is refused."},
	},
}

var ipv6 = Block{
	Type:  "ipv6",
	Path:  "spec.ipv6Options",
	Modes: onInstances,
	Doc:   "IPv6 settings.",
	Args: []Arg{
		{Name: "slaac", Path: "enableSLAAC", Kind: Bool, Doc: "Whether the machine configures its address by itself."},
		{Name: "ranges", Path: "enableRanges", Kind: Bool, Doc: "Whether the machine gets a range of addresses."},
		{Name: "public", Path: "isPublicIPv6", Kind: Bool, Doc: "Whether its range is reachable from outside."},
	},
}

var osDisk = Block{
	Type:  "os_disk",
	Path:  "spec.osDisk",
	Modes: onInstances,
	Doc:   "The disk the system is on.",
	Args:  fromImage(disk),
}

// fromImage are the arguments of a disk that is made from the image, of which only the size
// is free.
func fromImage(args []Arg) (of []Arg) {
	for _, arg := range args {
		if arg.Name != "size" {
			arg.Modes.NotInstances = "The disk is made from the image."
		}
		of = append(of, arg)
	}
	return of
}

var dataDisk = Block{
	Type:   "data_disk",
	Labels: []string{"device"},
	Path:   "spec.dataDisks",
	Modes:  Modes{NoEffectOnLKE: true, NotInstances: "Linodes are made with one disk, and swap."},
	Doc:    `A further disk, labelled with its device: "sdb" to "sdh".`,
	Args:   disk,
}

var disk = []Arg{
	{Name: "size", Path: "size", Kind: String, Required: true, Doc: `The size, such as "20Gi".`},
	{Name: "label", Path: "label", Kind: String, Default: "the device's name", Doc: "The disk's label."},
	{Name: "filesystem", Path: "filesystem", Kind: String, Default: "ext4",
		Doc: `What the disk is formatted as: "ext4", "ext3", "raw", "swap" or "initrd".`},
	{Name: "disk_id", Path: "diskID", Kind: ID, Doc: "The id Linode gave the disk."},
}

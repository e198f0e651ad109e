package instance

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/lkeplan/lkeplan/linode/instance/bootstrap"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Problem says why no machine can be created from a class in instance mode, as far as the class itself shows; "" if
// one can. A field that would have no effect is a problem.
func Problem(spec linodev1alpha1.LinodeNodeClassSpec) string {
	named := ptr.Deref(spec.Select, linodev1alpha1.Selection{})
	group := ptr.Deref(spec.PlacementGroup, linodev1alpha1.PlacementGroup{})
	twice := func(field string, number bool, selected string) string {
		if number && selected != "" {
			return fmt.Sprintf("spec.%s: spec.select also selects one; keep only one of them", field)
		}
		return ""
	}
	vpc, subnet := spec.VPCID != nil || named.VPC != "", spec.SubnetID != nil || named.Subnet != ""
	return cmp.Or(
		nodeclaim.TagProblem(spec.Tags, tagOfCluster, tagOfName),
		problemIf(spec.Image == "" && named.Image == "", "spec.image: in instance mode, a node class needs an image; set "+
			"the ID of an image with cloud-init and with kubeadm or k3s, or select an image by its label"),
		twice("image", spec.Image != "", named.Image), twice("firewallID", spec.FirewallID != nil, named.Firewall),
		twice("vpcID", spec.VPCID != nil, named.VPC), twice("subnetID", spec.SubnetID != nil, named.Subnet),
		twice("placementGroup", group.ID != 0 || group.PerPool != nil, named.PlacementGroup),
		problemIf(group.ID != 0 && group.PerPool != nil, "spec.placementGroup: id and perPool exclude each other; keep one of "+
			"them"),
		problemIf(spec.PlacementGroup != nil && group.ID == 0 && group.PerPool == nil && named.PlacementGroup == "",
			"spec.placementGroup: no group is set; set the id of a group, its label in spec.select, or perPool"),
		problemIf(vpc && !subnet, "spec.subnetID: a VPC is set without a subnet; set a subnet of the VPC"),
		problemIf(subnet && !vpc, "spec.vpcID: a subnet is set without its VPC; set the VPC"),
		problemIf(spec.IPv6Options != nil && !vpc, "spec.ipv6Options: the options apply only to addresses in a VPC, and no VPC is set"),
		problemIf(spec.LKEK8sVersion != nil, "spec.lkeK8sVersion: the version has no effect in instance mode, because the "+
			"image contains the kubelet; remove it"),
		problemIf(spec.GuideSwapSize != nil && *spec.Swap() != *spec.GuideSwapSize, "spec.swapSize: it differs from "+
			"spec.swap_size, which means the same; keep one of them"),
		problemIf(ptr.Deref(spec.Swap(), 0) < 0, "spec.swap_size: it is less than 0"), swapProblem(spec),
		problemIf(ptr.Deref(spec.FirewallID, 1) <= 0, "spec.firewallID: it is not the ID of a firewall"),
		problemIf(ptr.Deref(spec.VPCID, 1) <= 0, "spec.vpcID: it is not the ID of a VPC"),
		problemIf(ptr.Deref(spec.SubnetID, 1) <= 0, "spec.subnetID: it is not the ID of a subnet"),
		kubeletProblem(spec.Kubelet),
		dataDisksProblem(spec.DataDisks),
		diskProblem(spec.OSDisk),
	)
}

func problemIf(wrong bool, problem string) string {
	if wrong {
		return problem
	}
	return ""
}

// swapProblem reports a swap disk with which the kubelet would not start, because it is set to fail while swap is
// on. If the class does not set that, the cluster's own configuration of kubelets may allow swap.
func swapProblem(spec linodev1alpha1.LinodeNodeClassSpec) string {
	fails := ptr.Deref(spec.Kubelet, linodev1alpha1.KubeletConfiguration{}).FailSwapOn
	return problemIf(ptr.Deref(spec.Swap(), 0) > 0 && ptr.Deref(fails, false), "spec."+spec.SwapField()+": the kubelet does "+
		"not start with swap if failSwapOn of kubelet is true (fail_swap_on in HCL); set it to false or remove the swap")
}

func kubeletProblem(kubelet *linodev1alpha1.KubeletConfiguration) string {
	if err := bootstrap.CheckKubelet(kubelet); err != nil {
		return "spec." + strings.ReplaceAll(err.Error(), "\n", "; spec.")
	}
	return ""
}

func diskProblem(disk *linodev1alpha1.InstanceDisk) string {
	switch {
	case disk == nil:
	case disk.DiskID != 0 || disk.Label != "" || disk.Filesystem != "":
		return "spec.osDisk: only its size has an effect, because the disk is created from the image"
	case disk.Size.Value()>>20 <= 0:
		return fmt.Sprintf("spec.osDisk.size: %s is not a disk size", disk.Size.String())
	}
	return ""
}

// dataDisksProblem names the first data disk, so that the command validate shows its block.
func dataDisksProblem(disks *linodev1alpha1.InstanceDisks) string {
	if disks == nil {
		return ""
	}
	field := "spec.dataDisks"
	for n, disk := range []*linodev1alpha1.InstanceDisk{
		disks.SDB, disks.SDC, disks.SDD, disks.SDE, disks.SDF, disks.SDG, disks.SDH,
	} {
		if disk != nil {
			field += ".sd" + string(rune('b'+n))
			break
		}
	}
	return field + ": Linodes are created with one disk and swap; further disks are not supported"
}

// Suppose resolves the references of a class without the account, as if all objects existed: an image stands for
// itself, and a label for a number that no account has.
func Suppose(spec linodev1alpha1.LinodeNodeClassSpec) linodev1alpha1.Selected {
	by := ptr.Deref(spec.Select, linodev1alpha1.Selection{})
	numbered := func(id *int, label string) int {
		if label == "" {
			return ptr.Deref(id, 0)
		}
		sum := fnv.New32a()
		_, _ = sum.Write([]byte(label))
		return -1 - int(sum.Sum32())
	}
	found := linodev1alpha1.Selected{
		By: by, Image: spec.Image, FirewallID: numbered(spec.FirewallID, by.Firewall),
		VPCID: numbered(spec.VPCID, by.VPC), SubnetID: numbered(spec.SubnetID, by.Subnet),
	}
	if by.Image != "" {
		found.Image = by.Image
	}
	group := ptr.Deref(spec.PlacementGroup, linodev1alpha1.PlacementGroup{}).ID
	found.PlacementGroupID = numbered(&group, by.PlacementGroup)
	if found.PlacementGroupID != 0 {
		found.PlacementGroupSize = groupSize
	}
	return found
}

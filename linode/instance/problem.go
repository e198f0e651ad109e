package instance

import (
	"fmt"
	"hash/fnv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/lkeplan/lkeplan/linode/instance/bootstrap"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Problem says why no machine can be made of a class in instance mode, as far as the class
// itself tells; "" where one can. A field that would silently have no effect is a problem.
func Problem(spec linodev1alpha1.LinodeNodeClassSpec) string {
	named := ptr.Deref(spec.Select, linodev1alpha1.Selection{})
	group := ptr.Deref(spec.PlacementGroup, linodev1alpha1.PlacementGroup{})
	twice := func(field string, number bool, selected string) string {
		if number && selected != "" {
			return fmt.Sprintf("spec.%s: spec.select names one, too; keep one of the two", field)
		}
		return ""
	}
	vpc, subnet := spec.VPCID != nil || named.VPC != "", spec.SubnetID != nil || named.Subnet != ""
	for _, problem := range []string{
		tagProblem(spec.Tags),
		when(spec.Image == "" && named.Image == "", "spec.image: say what the machine boots: an image with cloud-init, and with "+
			"kubeadm or k3s in it, or select one by its label"),
		twice("image", spec.Image != "", named.Image), twice("firewallID", spec.FirewallID != nil, named.Firewall),
		twice("vpcID", spec.VPCID != nil, named.VPC), twice("subnetID", spec.SubnetID != nil, named.Subnet),
		twice("placementGroup", group.ID != 0 || group.PerPool != nil, named.PlacementGroup),
		when(group.ID != 0 && group.PerPool != nil, "spec.placementGroup: perPool asks for groups besides the one of the "+
			"id; keep one of the two"),
		when(spec.PlacementGroup != nil && group.ID == 0 && group.PerPool == nil && named.PlacementGroup == "",
			"spec.placementGroup: say which one: by its id, by its label in spec.select, or with perPool"),
		when(vpc && !subnet, "spec.subnetID: the machine is to be in a VPC, and no subnet of it is named"),
		when(subnet && !vpc, "spec.vpcID: a subnet is named, and no VPC that it is of"),
		when(spec.IPv6Options != nil && !vpc, "spec.ipv6Options: it is about addresses in a VPC, and no VPC is named"),
		when(spec.LKEK8sVersion != nil, "spec.lkeK8sVersion: it has no effect in instance mode, where the image has the "+
			"kubelet; take it out"),
		when(spec.GuideSwapSize != nil && *spec.Swap() != *spec.GuideSwapSize, "spec.swapSize: spec.swap_size, which is the "+
			"same, says something else; keep one of the two"),
		when(ptr.Deref(spec.Swap(), 0) < 0, "spec.swap_size: it is less than 0"), swapProblem(spec),
		when(ptr.Deref(spec.FirewallID, 1) <= 0, "spec.firewallID: it is no number of a firewall"),
		when(ptr.Deref(spec.VPCID, 1) <= 0, "spec.vpcID: it is no number of a VPC"),
		when(ptr.Deref(spec.SubnetID, 1) <= 0, "spec.subnetID: it is no number of a subnet"),
		kubeletProblem(spec.Kubelet),
		diskBesides(spec.DataDisks),
		diskProblem(spec.OSDisk),
	} {
		if problem != "" {
			return problem
		}
	}
	return ""
}

func when(wrong bool, problem string) string {
	if wrong {
		return problem
	}
	return ""
}

func tagProblem(tags []string) string {
	for _, tag := range tags {
		if len(tag) < 3 || len(tag) > 50 {
			return fmt.Sprintf("spec.tags: %q has %d characters; Linode takes tags of 3 to 50", tag, len(tag))
		}
		if lower := strings.ToLower(tag); strings.HasPrefix(lower, tagOfCluster) || strings.HasPrefix(lower, tagOfName) {
			return fmt.Sprintf("spec.tags: %q is one of lkeplan's own tags; choose another", tag)
		}
	}
	return ""
}

// swapProblem: a kubelet that is to fail while swap is on does not start with a swap disk. If nothing is said, the
// cluster's own configuration of kubelets may allow it.
func swapProblem(spec linodev1alpha1.LinodeNodeClassSpec) string {
	fails := ptr.Deref(spec.Kubelet, linodev1alpha1.KubeletConfiguration{}).FailSwapOn
	return when(ptr.Deref(spec.Swap(), 0) > 0 && ptr.Deref(fails, false), "spec."+spec.SwapField()+": no kubelet starts while "+
		"swap is on if failSwapOn of kubelet is true (fail_swap_on in HCL); write false, or take the swap out")
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
		return "spec.osDisk: only its size has an effect, as the disk is made from the image"
	case disk.Size.Value()>>20 <= 0:
		return fmt.Sprintf("spec.osDisk.size: %s is no size of a disk", disk.Size.String())
	}
	return ""
}

func diskBesides(disks *linodev1alpha1.InstanceDisks) string {
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
	return field + ": Linodes are made with one disk, and swap; further disks are not supported"
}

// Suppose is what a class names if the account has all of it, for who cannot ask: an image
// stands for itself, and a label for a number that no account has.
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
	if found.PlacementGroupID = numbered(&group, by.PlacementGroup); found.PlacementGroupID != 0 {
		found.PlacementGroupSize = groupSize
	}
	return found
}

package instance

import (
	"hash/fnv"

	"k8s.io/utils/ptr"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

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

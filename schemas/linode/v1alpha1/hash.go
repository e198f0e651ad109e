package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/mitchellh/hashstructure/v2"

	"github.com/lkeplan/lkeplan/schemas"
)

// HashVersion names the way Hash is computed. It changes when a field enters
// or leaves the hash or gets another default; nodes made under another version
// are stamped again instead of being replaced.
const HashVersion = "lkeplan-v2"

// AnnotationMode says on a LinodeNodeClass how its machines are made: ModeInstance, or
// nothing where LKE makes them.
const (
	AnnotationMode = schemas.AnnotationMode
	ModeInstance   = schemas.ModeInstance
)

// Hash is a digest of the fields whose change replaces nodes. Those are others in instance
// mode, which AnnotationMode tells.
func (in *LinodeNodeClass) Hash() string {
	if in.Annotations[AnnotationMode] == ModeInstance {
		return in.Spec.instanceHash()
	}
	sum, err := hashstructure.Hash(in.Spec, hashstructure.FormatV2, &hashstructure.HashOptions{
		SlicesAsSets: true, IgnoreZeroValue: true, ZeroNil: true,
	})
	if err != nil {
		// Only a field of a kind that hashstructure cannot read gets here,
		// which no LinodeNodeClassSpec has.
		panic(fmt.Sprintf("hash of LinodeNodeClass %q: %v", in.Name, err))
	}
	return strconv.FormatUint(sum, 10)
}

// instanceHash is made of the fields as JSON has them, without those that are set in place
// or have no effect: so a quantity counts by its value, not by how it is written.
func (in LinodeNodeClassSpec) instanceHash() string {
	in.Tags, in.LKEK8sVersion, in.DataDisks = nil, nil, nil
	in.ReplaceBeforeMaintenance, in.Consolidation = nil, nil
	in.SwapSize, in.GuideSwapSize = in.Swap(), nil
	in.AuthorizedKeys = slices.Sorted(slices.Values(in.AuthorizedKeys))
	in.AuthorizedUsers = slices.Sorted(slices.Values(in.AuthorizedUsers))
	text, err := json.Marshal(in)
	if err != nil {
		panic(fmt.Sprintf("hash of a LinodeNodeClass: %v", err)) // all its fields are of kinds that JSON has
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Swap is the size of the swap disk in MiB, by whichever name it is given; nil where it is not.
func (in LinodeNodeClassSpec) Swap() *int {
	if in.SwapSize == nil {
		return in.GuideSwapSize
	}
	return in.SwapSize
}

// SwapField is the name by which the size of the swap disk is given.
func (in LinodeNodeClassSpec) SwapField() string {
	if in.SwapSize == nil && in.GuideSwapSize != nil {
		return "swapSize"
	}
	return "swap_size"
}

// NamesNothing reports whether a class names nothing that comes and goes without an event: a
// version of Kubernetes, or a thing of the account.
func (in LinodeNodeClassSpec) NamesNothing() bool {
	return in.LKEK8sVersion == nil && in.FirewallID == nil && in.VPCID == nil && in.SubnetID == nil &&
		in.PlacementGroup == nil && in.Select == nil && in.Image == "" && len(in.AuthorizedUsers) == 0
}

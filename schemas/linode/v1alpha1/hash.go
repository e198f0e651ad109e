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
// or leaves the hash or gets another default; nodes of another version get the new hash instead of being replaced.
const HashVersion = "lkeplan-v2"

// AnnotationMode, on a LinodeNodeClass, is ModeInstance in instance mode; it is not set if LKE creates the machines.
const (
	AnnotationMode = schemas.AnnotationMode
	ModeInstance   = schemas.ModeInstance
)

// Hash is a digest of the fields whose change replaces nodes. Instance mode, as in AnnotationMode, has other
// such fields.
func (in *LinodeNodeClass) Hash() string {
	if in.Annotations[AnnotationMode] == ModeInstance {
		return in.Spec.instanceHash()
	}
	sum, err := hashstructure.Hash(in.Spec, hashstructure.FormatV2, &hashstructure.HashOptions{
		SlicesAsSets: true, IgnoreZeroValue: true, ZeroNil: true,
	})
	if err != nil {
		// Only a field of a kind that hashstructure cannot read fails; LinodeNodeClassSpec has none.
		panic(fmt.Sprintf("hash of LinodeNodeClass %q: %v", in.Name, err))
	}
	return strconv.FormatUint(sum, 10)
}

// instanceHash hashes the fields as JSON, without those that are changed in place or have no effect. A
// quantity counts by its value, not by its spelling.
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

// Swap is the size of the swap disk in MiB under either name; nil if it is not set.
func (in LinodeNodeClassSpec) Swap() *int {
	if in.SwapSize == nil {
		return in.GuideSwapSize
	}
	return in.SwapSize
}

// SwapField is the field in which the size of the swap disk is set.
func (in LinodeNodeClassSpec) SwapField() string {
	if in.SwapSize == nil && in.GuideSwapSize != nil {
		return "swapSize"
	}
	return "swap_size"
}

// NamesNothing reports whether a class references nothing that comes and goes without an event: a version of
// Kubernetes or an object of the account.
func (in LinodeNodeClassSpec) NamesNothing() bool {
	return in.LKEK8sVersion == nil && in.FirewallID == nil && in.VPCID == nil && in.SubnetID == nil &&
		in.PlacementGroup == nil && in.Select == nil && in.Image == "" && len(in.AuthorizedUsers) == 0
}

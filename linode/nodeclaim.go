package linode

import (
	"fmt"
	"strconv"
	"strings"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/capacity"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// AnnotationGroup holds, on a NodeClaim, the group of LKE pools that its
// machine comes from, as capacity.Group.Encode writes it. Together with a
// pending provider id it is the demand: written once, read after any restart.
const AnnotationGroup = "lkeplan.dev/group"

// The two forms of a NodeClaim's provider id: while it waits for a machine,
// and when it has one. The second is the very string that the Linode cloud
// controller manager writes on the Node.
const (
	pendingScheme = "lke-pending://"
	linodeScheme  = "linode://"
)

func pendingID(uid string) string      { return pendingScheme + uid }
func linodeID(instance int) string     { return linodeScheme + strconv.Itoa(instance) }
func isPending(providerID string) bool { return strings.HasPrefix(providerID, pendingScheme) }

// instanceOf returns the Linode that a provider id names; 0 where it names
// none.
func instanceOf(providerID string) int {
	digits, ok := strings.CutPrefix(providerID, linodeScheme)
	if !ok {
		return 0
	}
	id, err := strconv.Atoi(digits)
	if err != nil || id < 0 {
		return 0
	}
	return id
}

// managed reports whether a NodeClaim is for this provider.
func managed(nc *karpv1.NodeClaim) bool {
	ref := nc.Spec.NodeClassRef
	return ref != nil && ref.Group == linodev1alpha1.Group && ref.Kind == "LinodeNodeClass"
}

// claimOf reads a NodeClaim as demand. It says no while Create has not
// answered yet: such a claim asks for nothing.
func claimOf(nc *karpv1.NodeClaim) (capacity.Claim, bool) {
	id := nc.Status.ProviderID
	claim := capacity.Claim{
		UID:      string(nc.UID),
		Instance: instanceOf(id),
		Created:  nc.CreationTimestamp.Time,
		Leaving:  !nc.DeletionTimestamp.IsZero(),
	}
	if claim.Instance == 0 && !isPending(id) {
		return capacity.Claim{}, false
	}
	group, err := capacity.DecodeGroup(nc.Annotations[AnnotationGroup])
	if err != nil && claim.Instance == 0 && !claim.Leaving {
		return capacity.Claim{}, false
	}
	// A claim without a readable group owns its machine all the same, as those
	// do that another provider made, and can leave.
	claim.Group = group
	return claim, true
}

// nodeName is the name of the node, and of the Linode, in a slot: recorded on
// every node of LKE (TestLKENodePool_GetFound).
func nodeName(cluster int, slot string) string { return fmt.Sprintf("lke%d-%s", cluster, slot) }

// slotOf is nodeName backwards. It says no for a name that no slot of the
// cluster can have.
func slotOf(cluster int, node string) (pool int, slot string, ok bool) {
	slot, ok = strings.CutPrefix(node, fmt.Sprintf("lke%d-", cluster))
	if !ok {
		return 0, "", false
	}
	digits, _, found := strings.Cut(slot, "-")
	pool, err := strconv.Atoi(digits)
	return pool, slot, found && err == nil
}

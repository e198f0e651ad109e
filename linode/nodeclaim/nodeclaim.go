// Package nodeclaim reads what this provider has written on a NodeClaim: the
// provider id that names its Linode or says that one is on order, the group of
// LKE pools that the Linode comes from, and the plan. It knows the names of
// nodes, too, which follow from the ids of slots.
//
// It knows neither LKE's API nor who reads the answer; it writes nothing.
package nodeclaim

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// PendingID is the provider id of a NodeClaim that waits for its machine.
func PendingID(uid string) string { return pendingScheme + uid }

// LinodeID is the provider id of a NodeClaim whose machine is the instance.
func LinodeID(instance int) string { return linodeScheme + strconv.Itoa(instance) }

// UIDOf returns the UID in a pending provider id; false for any other id.
func UIDOf(providerID string) (uid string, pending bool) {
	return strings.CutPrefix(providerID, pendingScheme)
}

// IsPending reports whether a provider id is a pending one.
func IsPending(providerID string) bool { return strings.HasPrefix(providerID, pendingScheme) }

// InstanceOf returns the Linode that a provider id names; 0 where it names
// none.
func InstanceOf(providerID string) int {
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

// Managed reports whether a NodeClaim is for this provider.
func Managed(nc *karpv1.NodeClaim) bool {
	ref := nc.Spec.NodeClassRef
	return ref != nil && ref.Group == linodev1alpha1.Group && ref.Kind == "LinodeNodeClass"
}

// Read reads a NodeClaim as demand for capacity. It returns false while Create
// has not answered yet: such a claim asks for nothing.
func Read(nc *karpv1.NodeClaim) (claim capacity.Claim, decided bool) {
	id := nc.Status.ProviderID
	claim = capacity.Claim{
		UID:      string(nc.UID),
		Name:     nc.Name,
		Instance: InstanceOf(id),
		Created:  nc.CreationTimestamp.Time,
		Leaving:  !nc.DeletionTimestamp.IsZero(),

		Registered: nc.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeRegistered).IsTrue(),
	}
	if claim.Instance == 0 && !IsPending(id) {
		return capacity.Claim{}, false
	}
	group, err := capacity.DecodeGroup(nc.Annotations[AnnotationGroup])
	if err != nil && claim.Instance == 0 && !claim.Leaving {
		return capacity.Claim{}, false
	}
	// A claim without a readable group, such as one that another provider made,
	// still owns its machine and can leave.
	claim.Group = group
	return claim, true
}

// PlanOf returns the plan type that was chosen for a NodeClaim; "" before.
func PlanOf(nc *karpv1.NodeClaim) string {
	if plan := nc.Labels[corev1.LabelInstanceTypeStable]; plan != "" {
		return plan
	}
	group, err := capacity.DecodeGroup(nc.Annotations[AnnotationGroup])
	if err != nil {
		return ""
	}
	return group.Plan
}

// VersionOf returns the Kubernetes version of a NodeClaim's node: that of its LKE
// pool on Enterprise clusters; elsewhere, where pools have none, what its kubelet
// reports.
func VersionOf(nc *karpv1.NodeClaim, kubelet string) string {
	group, err := capacity.DecodeGroup(nc.Annotations[AnnotationGroup])
	if err != nil || group.Version == "" {
		return kubelet
	}
	return group.Version
}

// NodeName is the name of the node, and of the Linode, in a slot. It was
// recorded on nodes of real LKE clusters.
func NodeName(cluster int, slot string) string { return fmt.Sprintf("lke%d-%s", cluster, slot) }

// SlotOf is the inverse of NodeName. It returns false for a name that no slot
// of the cluster can have.
func SlotOf(cluster int, node string) (pool int, slot string, ok bool) {
	slot, ok = strings.CutPrefix(node, fmt.Sprintf("lke%d-", cluster))
	if !ok {
		return 0, "", false
	}
	digits, _, found := strings.Cut(slot, "-")
	pool, err := strconv.Atoi(digits)
	return pool, slot, found && err == nil
}

// IsNode reports whether a Node of that name can be one of the cluster.
func IsNode(cluster int, node string) bool {
	_, _, ok := SlotOf(cluster, node)
	return ok
}

// IndexUID is the field index by which ByUID finds NodeClaims.
const IndexUID = "metadata.uid"

// Index adds the field index IndexUID.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &karpv1.NodeClaim{}, IndexUID, UIDs)
}

// UIDs returns the values of an object for IndexUID.
func UIDs(o client.Object) []string { return []string{string(o.GetUID())} }

// ByUID returns the NodeClaim with a UID from a reader that has the index
// IndexUID. The error is a NotFound of the API where there is none.
func ByUID(ctx context.Context, r client.Reader, uid string) (*karpv1.NodeClaim, error) {
	var list karpv1.NodeClaimList
	if err := r.List(ctx, &list, client.MatchingFields{IndexUID: uid}); err != nil {
		return nil, fmt.Errorf("list the NodeClaims with UID %s: %w", uid, err)
	}
	if len(list.Items) == 0 {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: "karpenter.sh", Resource: "nodeclaims"}, uid)
	}
	return &list.Items[0], nil
}

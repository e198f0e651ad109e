// Package nodeclaim reads and writes this provider's data on a NodeClaim and its Node: the provider id of the
// Linode or of a pending one, the plan, events, when it may be consolidated, and what happens to a Node whose
// NodeClaim is missing. It also counts machines and claims for the metrics. Both modes use it; it depends on
// neither of them nor on the Linode API.
package nodeclaim

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// AnnotationGroup has, on a NodeClaim, the group of LKE pools for its machine, as package lke writes it. Together
// with a pending provider id it is the demand: it is written once, and read after any restart.
const AnnotationGroup = "lkeplan.dev/group"

// AnnotationOrder replaces AnnotationGroup in instance mode: it has the properties with which the Linode of the
// claim is created, as package instance writes it.
const AnnotationOrder = "lkeplan.dev/machine"

// The two forms of a NodeClaim's provider id: while it waits for a machine, and when it has one. The second one is
// exactly the text that the Linode cloud controller manager writes on the Node.
const (
	pendingScheme = "lke-pending://"
	linodeScheme  = "linode://"
)

// PendingID returns the provider id of a NodeClaim that waits for its machine.
func PendingID(uid string) string { return pendingScheme + uid }

// LinodeID returns the provider id of a NodeClaim whose machine is the instance.
func LinodeID(instance int) string { return linodeScheme + strconv.Itoa(instance) }

// UIDOf returns the UID in a pending provider id; false for any other id.
func UIDOf(providerID string) (uid string, pending bool) {
	return strings.CutPrefix(providerID, pendingScheme)
}

// IsPending reports whether a provider id is a pending one.
func IsPending(providerID string) bool { return strings.HasPrefix(providerID, pendingScheme) }

// InstanceOf returns the Linode that a provider id names; 0 if it names
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

// Decided reports whether Create has answered for a NodeClaim: it has a machine, or waits for one, and an
// annotation has the order. Before that, it requests nothing.
func Decided(nc *karpv1.NodeClaim) bool {
	id := nc.Status.ProviderID
	ordered := groupOf(nc).Plan != "" || nc.Annotations[AnnotationOrder] != ""
	return InstanceOf(id) != 0 || IsPending(id) && (ordered || !nc.DeletionTimestamp.IsZero())
}

// PlanOf returns the plan type that was chosen for a NodeClaim; "" before.
func PlanOf(nc *karpv1.NodeClaim) string {
	if plan := nc.Labels[corev1.LabelInstanceTypeStable]; plan != "" {
		return plan
	}
	return groupOf(nc).Plan
}

// VersionOf returns the Kubernetes version of a NodeClaim's node: that of its LKE
// pool on Enterprise clusters; elsewhere, where pools have none, what its kubelet
// reports.
func VersionOf(nc *karpv1.NodeClaim, kubelet string) string {
	return cmp.Or(groupOf(nc).Version, kubelet)
}

// group is the part of a group of LKE pools that this package reads.
type group struct{ Plan, Version string }

func groupOf(nc *karpv1.NodeClaim) (g group) {
	if json.Unmarshal([]byte(nc.Annotations[AnnotationGroup]), &g) != nil || g.Plan == "" {
		return group{}
	}
	return g
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
// IndexUID. The error is a NotFound of the API if there is none.
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

// IndexClass is the field index of NodeClaims by their class. It is one of those that
// Karpenter adds.
const IndexClass = "spec.nodeClassRef.name"

// OfClass returns the NodeClaims of a class from a reader that has the index IndexClass.
func OfClass(ctx context.Context, r client.Reader, class string) ([]karpv1.NodeClaim, error) {
	var list karpv1.NodeClaimList
	if err := r.List(ctx, &list, client.MatchingFields{IndexClass: class}); err != nil {
		return nil, err
	}
	claims := list.Items[:0]
	for _, nc := range list.Items {
		if Managed(&nc) {
			claims = append(claims, nc)
		}
	}
	return claims, nil
}

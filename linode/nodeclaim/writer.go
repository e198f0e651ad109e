package nodeclaim

// Events and conditions report what happened to the machine of a NodeClaim, or to a Node whose NodeClaim is
// missing. This file makes no decisions.

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Writer writes NodeClaims, and events on them. Its client has the index that
// nodeclaim.Index adds, and Karpenter's by status.providerID.
type Writer struct {
	Client client.Client
	Events events.EventRecorder
}

// Bind writes the provider id of a machine on a claim. It fails if another claim has the machine, if the claim does
// not wait any more, or if the annotation from which the machine was ordered has changed. Other changes of the
// claim do not matter, because Karpenter makes many while a node starts.
func (w Writer) Bind(ctx context.Context, nc *karpv1.NodeClaim, instance int, orderedBy string) error {
	if err := w.free(ctx, string(nc.UID), instance); err != nil {
		return err
	}
	order := "/metadata/annotations/" + strings.ReplaceAll(orderedBy, "/", "~1")
	patch, err := json.Marshal([]map[string]string{
		{"op": "test", "path": "/metadata/uid", "value": string(nc.UID)},
		{"op": "test", "path": order, "value": nc.Annotations[orderedBy]},
		{"op": "test", "path": "/status/providerID", "value": PendingID(string(nc.UID))},
		{"op": "replace", "path": "/status/providerID", "value": LinodeID(instance)},
	})
	if err != nil {
		return err
	}
	err = w.Client.Status().Patch(ctx, nc, client.RawPatch(types.JSONPatchType, patch))
	if apierrors.IsInvalid(err) { // one of the tests in the patch has failed
		return fmt.Errorf("NodeClaim %s no longer waits, or waits for another machine: %w", nc.Name, err)
	}
	return err
}

// free returns an error if another claim has the machine.
func (w Writer) free(ctx context.Context, uid string, instance int) error {
	var list karpv1.NodeClaimList
	id := LinodeID(instance)
	if err := w.Client.List(ctx, &list, client.MatchingFields{"status.providerID": id}); err != nil {
		return fmt.Errorf("list the NodeClaims with provider id %s: %w", id, err)
	}
	for i := range list.Items {
		if nc := &list.Items[i]; nc.Status.ProviderID == id && string(nc.UID) != uid {
			return fmt.Errorf("the Linode %d is the machine of NodeClaim %s", instance, nc.Name)
		}
	}
	return nil
}

// DeleteUnserved deletes a claim that has no machine and gets none, so that Karpenter schedules its
// pods again. An event says why.
func (w Writer) DeleteUnserved(ctx context.Context, nc *karpv1.NodeClaim, reason string) error {
	w.Events.Eventf(nc, nil, corev1.EventTypeWarning, "InsufficientCapacity", "Launch", "%s", Shorten(reason))
	return w.delete(ctx, nc)
}

// Lose deletes a claim whose machine is gone, unless it has another machine by now.
func (w Writer) Lose(ctx context.Context, uid string, instance int, reason string) error {
	nc, err := ByUID(ctx, w.Client, uid)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if InstanceOf(nc.Status.ProviderID) != instance || !nc.DeletionTimestamp.IsZero() {
		return nil
	}
	w.Events.Eventf(nc, nil, corev1.EventTypeWarning, "MachineLost", "Terminate", "%s", Shorten(reason))
	return w.delete(ctx, nc)
}

func (w Writer) delete(ctx context.Context, nc *karpv1.NodeClaim) error {
	return client.IgnoreNotFound(w.Client.Delete(ctx, nc, client.Preconditions{UID: &nc.UID}))
}

// Warn writes a warning event on a claim. One that is gone gets none.
func (w Writer) Warn(ctx context.Context, uid, reason, message string) {
	if nc, err := ByUID(ctx, w.Client, uid); err == nil {
		w.Events.Eventf(nc, nil, corev1.EventTypeWarning, reason, "Launch", "%s", Shorten(message))
	}
}

// ConditionMachineDeleted, on a NodeClaim that is being deleted, is False while Linode refuses to delete its
// machine; its message gives the reason.
const ConditionMachineDeleted = "MachineDeleted"

// NotDeleted reports on a claim why its machine is not deleted, with a condition and an event of the same
// reason. A claim that is gone or not being deleted gets no condition.
func (w Writer) NotDeleted(ctx context.Context, uid, reason, message string) error {
	nc, err := ByUID(ctx, w.Client, uid)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	message = Shorten(message)
	w.Events.Eventf(nc, nil, corev1.EventTypeWarning, reason, "Terminate", "%s", message)
	is := status.Condition{
		Type: ConditionMachineDeleted, Status: metav1.ConditionFalse, Reason: reason, Message: message,
		ObservedGeneration: nc.Generation, LastTransitionTime: metav1.Now(),
	}
	next := nc.DeepCopy()
	at := slices.IndexFunc(next.Status.Conditions, func(c status.Condition) bool { return c.Type == is.Type })
	switch {
	case nc.DeletionTimestamp.IsZero():
		return nil
	case at < 0:
		next.Status.Conditions = append(next.Status.Conditions, is)
	default:
		if was := next.Status.Conditions[at]; was.Status == is.Status {
			is.LastTransitionTime = was.LastTransitionTime
		}
		next.Status.Conditions[at] = is
	}
	if err := PatchStatus(ctx, w.Client, nc, next); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("record on NodeClaim %s that its machine is not deleted: %w", nc.Name, err)
	}
	return nil
}

// WarnNodePool writes a warning event on a NodePool. One that is gone gets none.
func (w Writer) WarnNodePool(ctx context.Context, nodePool, reason, message string) {
	var pool karpv1.NodePool
	if err := w.Client.Get(ctx, client.ObjectKey{Name: nodePool}, &pool); err == nil {
		w.Events.Eventf(&pool, nil, corev1.EventTypeWarning, reason, "Reconcile", "%s", Shorten(message))
	}
}

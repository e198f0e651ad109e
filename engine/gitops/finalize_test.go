package gitops

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// pooled is a cluster with pools, which answers every deletion with an error.
type pooled struct {
	Cluster
	names   []string
	deleted bool   // they are deleted already, and still there
	label   string // the value of their inventory label
	denied  string // a kind that must not be listed
	err     error  // of deletions; nil for none
	ends    []string
}

func (c *pooled) ListLabelled(
	_ context.Context, apiVersion, kind, label, value string,
) (objects []map[string]any, err error) {
	if kind == c.denied {
		return nil, apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no binding"))
	}
	if kind != "NodePool" || value != c.label {
		return nil, nil
	}
	for _, name := range c.names {
		metadata := map[string]any{"name": name, "uid": "uid of " + name, "labels": map[string]any{label: value}}
		if c.deleted {
			metadata["deletionTimestamp"] = "2026-11-20T17:00:00Z"
		}
		objects = append(objects, map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata})
	}
	return objects, nil
}

func (c *pooled) Delete(_ context.Context, obj map[string]any) error {
	return c.end("delete", obj)
}

func (c *pooled) Orphan(_ context.Context, obj map[string]any) error {
	return c.end("orphan", obj)
}

func (c *pooled) end(how string, obj map[string]any) error {
	if c.err != nil {
		return c.err
	}
	c.ends = append(c.ends, how+" "+manifest.Name(obj))
	return nil
}

// TestObjectsOfADeletedNodePlan: they are deleted or orphaned, and where the API
// server does not answer, the NodePlan stays until it does.
func TestObjectsOfADeletedNodePlan(t *testing.T) {
	remove := lkeplanv1alpha1.NodePlanSpec{DeletionPolicy: lkeplanv1alpha1.DeletionDelete}
	suspended, planOnly := remove, remove
	suspended.Suspend, planOnly.Mode = true, lkeplanv1alpha1.ModePlanOnly
	tests := []struct {
		name   string
		spec   lkeplanv1alpha1.NodePlanSpec
		denied string
		err    error
		ends   []string
		stays  bool
	}{
		{name: "they are orphaned", ends: []string{"orphan a", "orphan b"}},
		{name: "they are deleted", spec: remove, ends: []string{"delete a", "delete b"}},
		{name: "one kind must not be listed", spec: remove, denied: "CapacityBuffer", ends: []string{"delete a", "delete b"}},
		{name: "those of a suspended one stay", spec: suspended, ends: []string{"orphan a", "orphan b"}},
		{name: "those of one that only plans stay", spec: planOnly, ends: []string{"orphan a", "orphan b"}},
		{name: "the API server is away", spec: remove, err: errors.New("connection refused"), stays: true},
		{name: "the account has no rights any more", spec: remove,
			err: apierrors.NewForbidden(schema.GroupResource{}, "a", errors.New("no binding"))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			np := nodePlan("ns", "fleet")
			np.Spec, np.Finalizers, np.DeletionTimestamp = tt.spec, []string{Finalizer}, &metav1.Time{}
			cluster := &pooled{names: []string{"a", "b"}, label: inventoryLabel(np), denied: tt.denied, err: tt.err}
			r := &Reconciler{
				EventRecorder: &recorder{},
				Worker: &Worker{
					Rivals:  NewRivals(nil),
					Connect: func(*lkeplanv1alpha1.NodePlan) (Cluster, error) { return cluster, nil },
				},
			}
			_, err := r.finalize(t.Context(), np)
			if stays := controllerutil.ContainsFinalizer(np, Finalizer); stays != tt.stays || (err != nil) != tt.stays {
				t.Errorf("the NodePlan stays: %v, with %v, want %v", stays, err, tt.stays)
			}
			if diff := cmp.Diff(tt.ends, cluster.ends); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

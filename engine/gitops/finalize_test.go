package gitops

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/engine/rollout"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// pooled is a cluster with pools, which answers every deletion with an error.
type pooled struct {
	Cluster
	names   []string
	braked  bool   // they have the budget of a wave
	deleted bool   // they are deleted already, and still there
	label   string // the value of their inventory label
	denied  string // a kind that must not be listed
	err     error  // of deletions; nil for none
	ends    []string
}

// Get finds nothing: each object has its label.
func (c *pooled) Get(context.Context, map[string]any) (map[string]any, error) { return nil, nil }

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
		if c.gone(name) {
			continue
		}
		metadata := map[string]any{"name": name, "uid": "uid of " + name, "labels": map[string]any{label: value}}
		if c.deleted {
			metadata["deletionTimestamp"] = "2026-11-20T17:00:00Z"
		}
		if c.braked {
			metadata["annotations"] = map[string]any{rollout.Annotation: "0"}
		}
		objects = append(objects, map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata})
	}
	return objects, nil
}

// gone reports whether a pool has been ended.
func (c *pooled) gone(name string) bool {
	return slices.ContainsFunc(c.ends, func(end string) bool { return strings.HasSuffix(end, " "+name) })
}

func (c *pooled) Delete(_ context.Context, obj map[string]any) error {
	return c.end("delete", obj)
}

func (c *pooled) DryRun(_ context.Context, obj map[string]any) (map[string]any, []manifest.Conflict, error) {
	return obj, nil, nil
}

func (c *pooled) ApplyForced(_ context.Context, obj, _ map[string]any) (kube.Outcome, error) {
	return kube.Changed, c.end("release", obj)
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

// TestObjectsOfADeletedNodePlan: they are orphaned, or deleted if the guards let them,
// and where the API server does not answer, the NodePlan stays until it does.
func TestObjectsOfADeletedNodePlan(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	remove := lkeplanv1alpha1.NodePlanSpec{DeletionPolicy: lkeplanv1alpha1.DeletionDelete}
	suspended, planOnly := remove, remove
	suspended.Suspend, planOnly.Mode = true, lkeplanv1alpha1.ModePlanOnly
	all, proves := config.Guards{MaxDeletedPools: 2}, lkeplanv1alpha1.NodePlanSpec{Rollout: &lkeplanv1alpha1.RolloutSpec{}}
	never := all // but on a day of this century
	never.Windows = []config.Period{{Name: "late", Schedule: "0 0 29 2 *", Duration: time.Minute}}
	tests := []struct {
		name    string
		spec    lkeplanv1alpha1.NodePlanSpec
		guards  config.Guards // that were last applied
		applied []string      // by the NodePlan; else a and b
		denied  string
		err     error
		ends    []string
		braked  bool // the pools have the budget of a wave
		waits   string
		stays   bool
	}{
		{name: "they are orphaned", ends: []string{"orphan a", "orphan b"}},
		{name: "they are deleted", spec: remove, guards: all, ends: []string{"delete a", "delete b"}},
		{name: "a copy is not deleted", spec: remove, guards: all, applied: []string{"a"}, ends: []string{"delete a", "orphan b"}},
		{name: "a guard refuses it", spec: remove, guards: config.Guards{MaxDeletedPools: 1}, stays: true,
			waits: "The change would delete 2 pools, and the limit is 1"},
		{name: "a pool is protected", spec: remove, guards: config.Guards{MaxDeletedPools: 2, Protected: []string{"a"}}, stays: true,
			waits: "delete pool.a, which is protected"},
		{name: "a window is not open", spec: remove, guards: never, stays: true, waits: "revision main@sha1:2 waits: "},
		{name: "a revision proves itself", spec: proves, braked: true, stays: true,
			waits: "the NodePlan is being deleted during the rollout of revision main@sha1:2. Removing the budget of the first wave from a, b"},
		{name: "a revision is taken back", spec: proves, ends: []string{"orphan a", "orphan b"}},
		{name: "no proof is asked for any more", braked: true, ends: []string{"release a", "orphan a", "release b", "orphan b"}},
		{name: "one kind must not be listed", spec: remove, guards: all, denied: "CapacityBuffer",
			ends: []string{"delete a", "delete b"}},
		{name: "those of a suspended one stay", spec: suspended, ends: []string{"orphan a", "orphan b"}},
		{name: "those of one that only plans stay", spec: planOnly, ends: []string{"orphan a", "orphan b"}},
		{name: "the API server is away", spec: remove, guards: all, err: errors.New("connection refused"), stays: true},
		{name: "the account has no rights any more", spec: remove, guards: all,
			err: apierrors.NewForbidden(schema.GroupResource{}, "a", errors.New("no binding"))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			np := nodePlan("ns", "fleet")
			np.Spec, np.Finalizers, np.DeletionTimestamp = tt.spec, []string{Finalizer}, &metav1.Time{}
			np.Status.LastAttemptedRevision = "main@sha1:2"
			if tt.applied == nil {
				tt.applied = []string{"a", "b"}
			}
			cluster := &pooled{names: []string{"a", "b"}, braked: tt.braked, label: nodeplan.InventoryLabel(np), denied: tt.denied, err: tt.err}
			for _, name := range tt.applied {
				np.Status.Inventory = append(np.Status.Inventory,
					lkeplanv1alpha1.InventoryEntry{ID: nodeplan.ID("", name, "karpenter.sh", "NodePool"), UID: "uid of " + name})
			}
			compiler := &asks{answer: compile.Answer{Result: compile.Result{Compiled: config.Compiled{Guards: tt.guards}}}}
			r := &Reconciler{
				EventRecorder: &recorder{},
				Worker: &Worker{
					Compiler: compiler, Records: recorded{path: ".", files: map[string]string{"main.lke.hcl": ""}}, Prices: func() *catalog.Catalog { return prices },
					Cache: nothing{}, Reader: nodePlansOf(np), Now: time.Now,
					Vars:    func(context.Context, *lkeplanv1alpha1.NodePlan) (Variables, error) { return Variables{}, nil },
					Connect: func(*lkeplanv1alpha1.NodePlan) (Cluster, error) { return cluster, nil },
				},
			}
			_, err := r.finalize(t.Context(), np, nil)
			stays, waits := controllerutil.ContainsFinalizer(np, Finalizer), tt.waits != ""
			if stays != tt.stays || (err != nil) != (tt.stays && !waits) {
				t.Errorf("the NodePlan stays: %v, with %v, want %v", stays, err, tt.stays)
			}
			if diff := cmp.Diff(tt.ends, cluster.ends); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if message := conditions.GetMessage(np, meta.ReadyCondition); waits && !strings.Contains(message, tt.waits) {
				t.Errorf("it waits because %s", message)
			}
		})
	}
}

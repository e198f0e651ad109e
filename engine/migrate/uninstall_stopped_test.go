package migrate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// memory is a cluster of objects. It supports only merges of metadata.finalizers.
type memory struct {
	objects []map[string]any
	listing func() // what other clients do before a list
	deleted []string
}

func (m *memory) List(_ context.Context, apiVersion, kind string) (found []map[string]any, err error) {
	if m.listing != nil {
		m.listing()
	}
	for _, obj := range m.objects {
		if manifest.APIVersion(obj) == apiVersion && manifest.Kind(obj) == kind {
			found = append(found, obj)
		}
	}
	return found, nil
}

func (m *memory) Get(_ context.Context, like map[string]any) (map[string]any, error) {
	at := slices.IndexFunc(m.objects, func(o map[string]any) bool { return manifest.KeyOf(o) == manifest.KeyOf(like) })
	if at < 0 {
		return nil, nil
	}
	return m.objects[at], nil
}

func (m *memory) Merge(ctx context.Context, obj, change map[string]any, _ string) error {
	live, _ := m.Get(ctx, obj)
	metadata, _ := live["metadata"].(map[string]any)
	metadata["finalizers"], _ = manifest.Lookup(change, "metadata", "finalizers")
	return nil
}

// Delete starts a deletion that does not end.
func (m *memory) Delete(_ context.Context, obj map[string]any) error {
	m.deleted = append(m.deleted, manifest.KeyOf(obj).String())
	return nil
}

// nothing blocks a node.
func nothing(context.Context, cluster.Lister) string { return "" }

// TestDrainDeletesTheCapacityLimits: they would limit the next installation.
func TestDrainDeletesTheCapacityLimits(t *testing.T) {
	in := &memory{objects: []map[string]any{parse(t, `{apiVersion: lkeplan.dev/v1alpha1, kind: CapacityLimit,
	  metadata: {name: total}, spec: {nodes: 3}}`)}}
	if err := UninstallByDrain(t.Context(), in, nothing, func(string) {}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"CapacityLimit total"}; !slices.Equal(in.deleted, want) {
		t.Errorf("deleted %v, want %v", in.deleted, want)
	}
}

// TestDrainStopsIfAPoolIsCreatedAgain: its nodes would be created again, too.
func TestDrainStopsIfAPoolIsCreatedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := parse(t, `{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: web, uid: a},
		  spec: {template: {spec: {nodeClassRef: {group: karpenter.k8s.linode}}}}}`)
		claim := parse(t, `{apiVersion: karpenter.sh/v1, kind: NodeClaim, metadata: {name: web-1},
		  spec: {nodeClassRef: {group: karpenter.k8s.linode}}}`)
		in, lists := &memory{objects: []map[string]any{pool, claim}}, 0
		in.listing = func() {
			if lists++; lists == 20 {
				pool["metadata"].(map[string]any)["uid"] = "b"
			}
		}
		err := UninstallByDrain(t.Context(), in, nothing, func(string) {})
		if err == nil || !strings.Contains(err.Error(), "NodePool web was created again") {
			t.Error(err)
		}
	})
}

// TestDrainReportsTimeout with the cause of the context.
func TestDrainReportsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, errors.New("timed out after 5s"))
		defer cancel()
		var steps []string
		err := UninstallByDrain(ctx, &memory{objects: []map[string]any{parse(t, `{apiVersion: karpenter.sh/v1, kind: NodeClaim,
		  metadata: {name: web-1, labels: {karpenter.sh/nodepool: web}},
		  spec: {nodeClassRef: {group: karpenter.k8s.linode}}}`)}}, nothing, func(step string) { steps = append(steps, step) })
		want := "timed out after 5s: " + ErrUnfinished.Error()
		if !errors.Is(err, ErrUnfinished) || err.Error() != want || !slices.Equal(steps, []string{"nodes left: 1"}) {
			t.Errorf("%v, want %s; reported %v", err, want, steps)
		}
	})
}

// TestDrainNamesWhatBlocks the nodes, after a time without progress, and once.
func TestDrainNamesWhatBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		in := &memory{objects: []map[string]any{parse(t, `{apiVersion: karpenter.sh/v1, kind: NodeClaim, metadata: {name: web-1},
		  spec: {nodeClassRef: {group: karpenter.k8s.linode}}}`)}}
		var steps []string
		err := UninstallByDrain(ctx, in, func(context.Context, cluster.Lister) string { return "a budget" },
			func(step string) { steps = append(steps, step) })
		if want := []string{"nodes left: 1", "nodes left: 1; a budget"}; !errors.Is(err, ErrUnfinished) || !slices.Equal(steps, want) {
			t.Errorf("%v; reported %q, want %q", err, steps, want)
		}
	})
}

// TestStopped: nodes are kept only if no controller runs that would undo the change.
func TestStopped(t *testing.T) {
	lease := func(name, holder string, silent time.Duration) cluster.Controller {
		return cluster.Controller{Namespace: "ns", Lease: name, Holder: holder, Silent: silent}
	}
	stopped := lease("lkeplan-controller", "", time.Hour)
	const scale = "kubectl -n ns scale deployment --replicas=0"
	deployment := func(replicas string) string {
		return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: lkeplan-controller, namespace: ns,
		  labels: {app.kubernetes.io/part-of: lkeplan}}, spec: {` + replicas + `}}`
	}
	for name, tt := range map[string]struct {
		running []cluster.Controller
		object  string
		want    string // "" for no error
	}{
		"no trace of a controller":   {nil, `{}`, ""},
		"it works":                   {[]cluster.Controller{lease("lkeplan-controller", "pod", time.Second)}, `{}`, scale},
		"the one of NodePlans works": {[]cluster.Controller{stopped, lease("lkeplan-gitops", "pod", 0)}, `{}`, scale},
		"its Lease ended, and its Deployment has replicas": {[]cluster.Controller{stopped}, deployment("replicas: 2"), scale},
		"a Deployment of one":                              {[]cluster.Controller{stopped}, deployment(""), scale},
		"without a Lease, by a Deployment":                 {nil, deployment("replicas: 1"), scale},
		"scaled to zero":                                   {[]cluster.Controller{stopped}, deployment("replicas: 0"), ""},
		"deleted":                                          {[]cluster.Controller{stopped}, `{}`, ""},
		"a Deployment of others": {[]cluster.Controller{stopped},
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: ns}, spec: {replicas: 3}}`, ""},
	} {
		err := Stopped(t.Context(), &memory{objects: []map[string]any{parse(t, tt.object)}}, tt.running)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

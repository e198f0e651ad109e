package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// changing is a cluster that says in which order its objects are changed.
type changing struct {
	done   []string
	weighs bool
}

func (c *changing) note(how string, obj map[string]any, more ...string) {
	c.done = append(c.done, strings.Join(append([]string{how, manifest.Kind(obj), manifest.Name(obj)}, more...), " "))
}

func (c *changing) Apply(_ context.Context, desired, _ map[string]any) (kube.Outcome, error) {
	c.note("apply", desired)
	return kube.Changed, nil
}

func (c *changing) ApplyForced(_ context.Context, desired, _ map[string]any) (kube.Outcome, error) {
	limit, _ := manifest.Lookup(desired, "spec", "limits", "nodes")
	c.note("force", desired, fmt.Sprint(limit))
	return kube.Changed, nil
}

// DryRun is without the policies of a cluster, but for one that changes the weight of pools.
func (c *changing) DryRun(_ context.Context, desired map[string]any) (map[string]any, []manifest.Conflict, error) {
	stored := runtime.DeepCopyJSON(desired)
	if c.weighs {
		manifest.Ensure(stored, "spec")["weight"] = int64(7)
	}
	return stored, nil, nil
}

func (c *changing) TakeBack(_ context.Context, desired, _ map[string]any, paths []string) (kube.Outcome, error) {
	c.note("take back", desired, paths...)
	return kube.Changed, nil
}

func (c *changing) Delete(_ context.Context, obj map[string]any) error {
	c.note("delete", obj)
	return nil
}

func (c *changing) Orphan(_ context.Context, obj map[string]any) error {
	c.note("orphan", obj)
	return nil
}

func object(kind, name string) map[string]any {
	return map[string]any{"kind": kind, "metadata": map[string]any{"name": name, "uid": "uid of " + name}}
}

// TestAnApplyChangesObjectsInOrder: a class is applied before its pools and deleted after them.
// Pools are drained when the new ones can make nodes, and are not deleted with nodes. Nothing is
// done while others have set fields of the plan, or if the plan does not name each change.
func TestAnApplyChangesObjectsInOrder(t *testing.T) {
	target := func(kind, name string) compare.Target { return compare.Target{Desired: object(kind, name)} }
	ends := func(kind, name string, action plan.Action, stage plan.RemovalStage) plan.Change {
		return plan.Change{Kind: kind, Name: name, UID: "uid of " + name, Action: action, Prune: stage}
	}
	old, drained := target("NodePool", "old"), target("NodePool", "drained")
	manifest.Ensure(old.Desired, "spec", "limits")["nodes"] = "0"
	drained.Unchanged = true
	found := compare.Comparison{
		Targets:   []compare.Target{target("NodePool", "new"), target("LinodeNodeClass", "new")},
		Condemned: []compare.Target{old, drained},
		Plan: plan.Plan{Changes: []plan.Change{
			{Kind: "NodePool", Name: "new", Action: plan.Create},
			{Kind: "LinodeNodeClass", Name: "new", Action: plan.Create},
			ends("LinodeNodeClass", "unused", plan.Delete, plan.RemoveAtOnce),
			ends("NodePool", "old", plan.Delete, plan.StartRemoval),
			ends("NodePool", "drained", plan.Delete, plan.Drained),
			ends("NodePool", "kept", plan.Forget, plan.RemoveAtOnce),
		}},
	}
	to := &changing{}
	deleted, err := Run(t.Context(), to, found, func(Progress) {})
	want := []string{
		"apply LinodeNodeClass new", "apply NodePool new", "force NodePool old 0", "delete NodePool drained",
		"orphan NodePool kept", "delete LinodeNodeClass unused",
	}
	if diff := cmp.Diff(want, to.done); diff != "" || len(deleted) != 2 || err != nil {
		t.Errorf("deleted %v, %v; done (-want +got):\n%s", deleted, err, diff)
	}
	for i, what := range []string{"NodePool new", "LinodeNodeClass new", 3: "NodePool old"} {
		if what == "" {
			continue
		}
		unnamed := found
		unnamed.Plan.Changes = slices.Delete(slices.Clone(found.Plan.Changes), i, i+1)
		to = &changing{}
		_, err = Run(t.Context(), to, unnamed, func(Progress) {})
		if err == nil || !strings.Contains(err.Error(), what+": ") || len(to.done) > 0 {
			t.Errorf("a plan does not name %s: %v; done: %v", what, err, to.done)
		}
	}
	found.Plan.Changes[0].Conflicts = []plan.Conflict{{Path: "spec.weight", Owner: "jane"}}
	to = &changing{}
	_, err = Run(t.Context(), to, found, func(Progress) {})
	if err == nil || !strings.Contains(err.Error(), `NodePool new: spec.weight was set by "jane"`) || len(to.done) > 0 {
		t.Errorf("in conflict: %v; done: %v", err, to.done)
	}
}

// TestACondemnedPoolIsReleasedBeforeItIsOrphaned: otherwise it makes no node any more.
func TestACondemnedPoolIsReleasedBeforeItIsOrphaned(t *testing.T) {
	to, released := &changing{}, object("NodePool", "web")
	manifest.Ensure(released, "spec", "limits")["nodes"] = "30"
	_, err := deleteObjects(t.Context(), to, []plan.Change{
		{Kind: "NodePool", Name: "web", UID: "1", Action: plan.Forget, Released: released},
		{Kind: "NodePool", Name: "batch", UID: "2", Action: plan.Forget},
	}, func(Progress) {})
	want := []string{"force NodePool web 30", "orphan NodePool web", "orphan NodePool batch"}
	if diff := cmp.Diff(want, to.done); diff != "" || err != nil {
		t.Errorf("%v; done (-want +got):\n%s", err, diff)
	}
	policed := &changing{weighs: true}
	_, err = deleteObjects(t.Context(), policed, []plan.Change{{Kind: "NodePool", Name: "web", UID: "1", Action: plan.Forget, Released: released}},
		func(Progress) {})
	if err == nil || !strings.Contains(err.Error(), "no guard has judged (spec.weight)") || len(policed.done) > 0 {
		t.Errorf("a release that admission changes: %v; done %v", err, policed.done)
	}
}

// TestOnlyNamedFieldsAreTakenBack: other objects are applied as ever.
func TestOnlyNamedFieldsAreTakenBack(t *testing.T) {
	to, web := &changing{}, object("NodePool", "web")
	taking := TakingBack(to, map[manifest.Key][]plan.Conflict{
		manifest.KeyOf(web): {{Path: "spec.weight"}, {Path: "spec.limits.cpu"}},
	})
	for _, obj := range []map[string]any{web, object("NodePool", "api")} {
		if _, err := taking.Apply(t.Context(), obj, nil); err != nil {
			t.Error(err)
		}
	}
	want := []string{"take back NodePool web spec.weight spec.limits.cpu", "apply NodePool api"}
	if diff := cmp.Diff(want, to.done); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
}

// labelled is a cluster with objects of one kind.
type labelled struct {
	compare.View
	objects []map[string]any
}

func (l labelled) Objects(_ context.Context, kind schemas.Object) (found []map[string]any, err error) {
	for _, obj := range l.objects {
		if manifest.Kind(obj) == kind.Kind {
			found = append(found, obj)
		}
	}
	return found, nil
}

// TestObjectsOfOthersAreNotOrphaned: the label says whose an object is.
func TestObjectsOfOthersAreNotOrphaned(t *testing.T) {
	var all []map[string]any
	for name, owner := range map[string]string{"ours": "dev", "theirs": "prod", "free": ""} {
		obj := object("NodePool", name)
		obj["metadata"].(map[string]any)["labels"] = map[string]any{kube.InventoryLabel: owner}
		all = append(all, obj)
	}
	to := &changing{}
	err := Orphan(t.Context(), to, labelled{objects: all}, "dev")
	if diff := cmp.Diff([]string{"orphan NodePool ours"}, to.done); diff != "" || err != nil {
		t.Errorf("%v; done (-want +got):\n%s", err, diff)
	}
}

// TestADeletedObjectIsWaitedFor, and not another one of its name.
func TestADeletedObjectIsWaitedFor(t *testing.T) {
	web, again := object("NodePool", "web"), object("NodePool", "web")
	again["metadata"].(map[string]any)["uid"] = "another"
	for _, tt := range []struct {
		name string
		live []map[string]any
		done bool
	}{
		{"it is gone", nil, true}, {"it is there", []map[string]any{web}, false},
		{"another one is there", []map[string]any{again}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := WaitGone(ctx, labelled{objects: tt.live}, []map[string]any{web}, func(Progress) {})
			if (err == nil) != tt.done {
				t.Errorf("%s: %v", tt.name, err)
			}
		})
	}
}

package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/schemas/task"
)

// memory is a cluster that remembers in which order it was applied to.
type memory struct {
	executor
	mu      sync.Mutex
	applied []string
	refuse  string // names
}

func (m *memory) Apply(_ context.Context, obj, _ map[string]any) (kube.Outcome, error) {
	if slices.Contains(strings.Fields(m.refuse), manifest.Name(obj)) {
		return "", errors.New(manifest.Name(obj) + " is refused")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.applied = append(m.applied, manifest.Kind(obj)+" "+manifest.Name(obj))
	return kube.Created, nil
}

func fleet(pools int) (targets []compare.Target) {
	add := func(kind, name string) {
		targets = append(targets,
			compare.Target{Desired: map[string]any{"kind": kind, "metadata": map[string]any{"name": name}}})
	}
	for i := range pools {
		add("NodePool", fmt.Sprintf("p%02d", i))
	}
	add("LinodeNodeClass", "a")
	add("LinodeNodeClass", "b")
	return targets
}

func TestClassesAreAppliedBeforePools(t *testing.T) {
	m := &memory{}
	var told []string
	if err := applyObjects(t.Context(), m, fleet(40), func(p Progress) { told = append(told, p.Kind+" "+p.Name) }); err != nil {
		t.Fatal(err)
	}
	if len(m.applied) != 42 || slices.IndexFunc(m.applied, func(s string) bool { return s[0] == 'N' }) != 2 {
		t.Errorf("applied in this order: %v", m.applied)
	}
	want := []string{"LinodeNodeClass a", "LinodeNodeClass b"}
	for i := range 40 {
		want = append(want, fmt.Sprintf("NodePool p%02d", i))
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told in this order (-want +got):\n%s", diff)
	}
}

// TestWhatIsAsItShouldBeCostsNoRequest, and is reported in its place.
func TestWhatIsAsItShouldBeCostsNoRequest(t *testing.T) {
	m, targets := &memory{}, fleet(20)
	for i := range targets {
		targets[i].Unchanged = i != 10
	}
	counts := map[Event]int{}
	if err := applyObjects(t.Context(), m, targets, func(p Progress) { counts[p.Event]++ }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[Event]int{Event(kube.Unchanged): 21, Event(kube.Created): 1}, counts); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"NodePool p10"}, m.applied); diff != "" {
		t.Errorf("applied (-want +got):\n%s", diff)
	}
}

func TestApplyStopsAtWhatIsRefused(t *testing.T) {
	m := &memory{refuse: "b"}
	told := 0
	err := applyObjects(t.Context(), m, fleet(40), func(Progress) { told++ })
	if err == nil || told != 1 {
		t.Errorf("err = %v after %d objects, want a refusal after one", err, told)
	}
	for _, what := range m.applied {
		if what[0] == 'N' {
			t.Errorf("%s was applied without its class", what)
		}
	}
}

// TestApplyReportsWhatItMadeAndEachError: also if an object fails that is tried at the same time, or earlier. If
// nothing can be applied, the other objects are not tried.
func TestApplyReportsWhatItMadeAndEachError(t *testing.T) {
	for refuse, want := range map[string][]int{ // the number of applied objects and of errors
		"p01 p03 p20":                         {39, 3},
		"p00 p01 p02 p03 p04 p05 p06 p07":     {2, 8},
		"p00 p01 p02 p03 p04 p05 p06 p09 p10": {33, 9},
		"a":                                   {1, 1},
	} {
		m, made := &memory{refuse: refuse}, 0
		err := applyObjects(t.Context(), m, fleet(40), func(Progress) { made++ })
		if err == nil || made != want[0] || len(m.applied) != made || len(strings.Split(err.Error(), "\n")) != want[1] {
			t.Errorf("%s: made %d, reported %d: %v", refuse, len(m.applied), made, err)
		}
	}
}

// buggy is a cluster whose client has a bug with one object.
type buggy struct{ memory }

func (b *buggy) Apply(ctx context.Context, obj, live map[string]any) (kube.Outcome, error) {
	if manifest.Name(obj) == "p01" {
		panic("assignment to entry in nil map")
	}
	return b.memory.Apply(ctx, obj, live)
}

// TestABugInOneObjectEndsNoProcess: it is an error, as a refusal is. Objects are applied beside one another.
func TestABugInOneObjectEndsNoProcess(t *testing.T) {
	b := &buggy{}
	if err := applyObjects(t.Context(), b, fleet(3), func(Progress) {}); !task.Panicked(err) || len(b.applied) != 4 {
		t.Errorf("%v, applied %v", err, b.applied)
	}
}

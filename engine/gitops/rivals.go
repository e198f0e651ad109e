package gitops

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Rivals knows which objects each NodePlan declares, so that two that declare the
// same one find out about each other, whichever was first.
type Rivals struct {
	notify func(types.NamespacedName)

	mu       sync.Mutex
	declared map[types.NamespacedName]map[manifest.Key]bool
}

// NewRivals returns Rivals without NodePlans. They call notify, which may be nil,
// with each NodePlan that begins or ceases to share an object with another one.
func NewRivals(notify func(types.NamespacedName)) *Rivals {
	if notify == nil {
		notify = func(types.NamespacedName) {}
	}
	return &Rivals{notify: notify, declared: map[types.NamespacedName]map[manifest.Key]bool{}}
}

// Declare replaces what a NodePlan declares, and returns by object the other
// NodePlans that declare it too, in order.
func (r *Rivals) Declare(plan types.NamespacedName, objects []manifest.Key) map[manifest.Key][]types.NamespacedName {
	rivals, changed := r.declare(plan, objects)
	for _, other := range changed {
		r.notify(other)
	}
	return rivals
}

// declare also returns the NodePlans that begin or cease to share objects with
// this one.
func (r *Rivals) declare(
	plan types.NamespacedName, objects []manifest.Key,
) (rivals map[manifest.Key][]types.NamespacedName, changed []types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	mine, before := map[manifest.Key]bool{}, r.declared[plan]
	for _, o := range objects {
		mine[o] = true
	}
	r.declared[plan] = mine
	rivals = map[manifest.Key][]types.NamespacedName{}
	for other, theirs := range r.declared {
		if other == plan {
			continue
		}
		shared, sharedBefore := false, false
		for o := range theirs {
			sharedBefore = sharedBefore || before[o]
			if mine[o] {
				shared = true
				rivals[o] = append(rivals[o], other)
			}
		}
		if shared != sharedBefore {
			changed = append(changed, other)
		}
	}
	for _, list := range rivals {
		slices.SortFunc(list, byName)
	}
	return rivals, changed
}

func byName(a, b types.NamespacedName) int { return cmp.Compare(a.String(), b.String()) }

// Others returns the other NodePlans that declare an object, in order.
func (r *Rivals) Others(plan types.NamespacedName, object manifest.Key) (others []types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for other, theirs := range r.declared {
		if other != plan && theirs[object] {
			others = append(others, other)
		}
	}
	slices.SortFunc(others, byName)
	return others
}

// Forget forgets a deleted NodePlan, and notifies those that declare some of its
// objects.
func (r *Rivals) Forget(plan types.NamespacedName) {
	r.Declare(plan, nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.declared, plan)
}

// refuseRivals refuses objects that another NodePlan declares as well. A NodePlan
// that only plans declares none.
func (w *Worker) refuseRivals(rev *revision) error {
	var declared []manifest.Key
	if !rev.planOnly() {
		for _, m := range rev.head.Manifests() {
			declared = append(declared, manifest.KeyOf(m))
		}
	}
	rivals := w.Rivals.Declare(client.ObjectKeyFromObject(rev.np), declared)
	if len(rivals) == 0 {
		return nil
	}
	var lines []string
	for object, others := range rivals {
		names := make([]string, len(others))
		for i, o := range others {
			names[i] = o.String()
		}
		lines = append(lines, fmt.Sprintf("%s is also in NodePlan %s", object, strings.Join(names, ", ")))
	}
	slices.Sort(lines)
	return stalled(lkeplanv1alpha1.ReasonConflict,
		"nothing is applied: %s. Remove it from one of them.", strings.Join(lines, "; "))
}

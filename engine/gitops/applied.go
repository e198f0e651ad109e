package gitops

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// appliedMemory remembers what was last applied, so that a revision is not fetched and compiled
// again while nothing differs from it. It is not persisted. A nil pointer remembers nothing.
type appliedMemory struct {
	mu    sync.Mutex
	plans map[client.ObjectKey]applied
}

// applied is what a NodePlan last applied.
type applied struct {
	UID        types.UID
	Generation int64
	Revision   string
	Vars       []config.Var
	Head, Base compile.Result
}

// Keep remembers what a NodePlan last applied, or forgets it for nil.
func (m *appliedMemory) Keep(np client.ObjectKey, a *applied) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.plans == nil {
		m.plans = map[client.ObjectKey]applied{}
	}
	delete(m.plans, np)
	if a != nil {
		m.plans[np] = *a
	}
}

// Recall returns what a NodePlan last applied, if that was this revision with this spec.
func (m *appliedMemory) Recall(np *lkeplanv1alpha1.NodePlan, revision string) (applied, bool) {
	if m == nil {
		return applied{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.plans[client.ObjectKeyFromObject(np)]
	return a, ok && a.UID == np.UID && a.Generation == np.Generation && a.Revision == revision &&
		np.Status.LastAppliedRevision == revision
}

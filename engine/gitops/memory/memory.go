// Package memory has what NodePlans were last brought to, so that the same revision is not
// fetched and compiled again as long as nothing differs from it. It ends with its process.
package memory

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// NodePlans are what is remembered of NodePlans. A nil pointer remembers nothing.
type NodePlans struct {
	mu    sync.Mutex
	plans map[client.ObjectKey]Applied
}

// Applied is what a NodePlan was brought to.
type Applied struct {
	UID        types.UID
	Generation int64
	Revision   string
	Vars       []config.Var
	Head, Base compile.Result
}

// Keep remembers what a NodePlan was brought to, or forgets it for nil.
func (m *NodePlans) Keep(np client.ObjectKey, a *Applied) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.plans == nil {
		m.plans = map[client.ObjectKey]Applied{}
	}
	if delete(m.plans, np); a != nil {
		m.plans[np] = *a
	}
}

// Recall returns what a NodePlan was brought to, if that was by this revision and with
// this spec.
func (m *NodePlans) Recall(np *lkeplanv1alpha1.NodePlan, revision string) (Applied, bool) {
	if m == nil {
		return Applied{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.plans[client.ObjectKeyFromObject(np)]
	return a, ok && a.UID == np.UID && a.Generation == np.Generation && a.Revision == revision &&
		np.Status.LastAppliedRevision == revision
}

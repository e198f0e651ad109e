package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// RemovalStage is the progress of removing a NodePool that is no longer declared.
type RemovalStage string

// The stages.
const (
	RemoveAtOnce RemovalStage = ""         // it is deleted with its nodes
	StartRemoval RemovalStage = "condemn"  // it has nodes, which drain from now on
	Draining     RemovalStage = "draining" // its removal has started, and it has nodes left
	Drained      RemovalStage = "drained"  // all its nodes have drained, and it is deleted
	// CancelRemoval is for a draining NodePool that is declared again. It keeps its remaining nodes.
	CancelRemoval RemovalStage = "reprieve"
)

// NextRemoval returns the stage of a live NodePool that is no longer declared.
func NextRemoval(pool map[string]any, nodes int) RemovalStage {
	switch _, started := ReadRemoval(pool); {
	case started && nodes > 0:
		return Draining
	case started:
		return Drained
	case nodes > 0:
		return StartRemoval
	}
	return RemoveAtOnce
}

// Removal is what the annotation of a draining NodePool records, and the expected end.
type Removal struct {
	Since   time.Time `json:"since,omitzero"`
	Nodes   int       `json:"nodes" doc:"Nodes of the pool at that time."`
	Soonest time.Time `json:"soonest_end,omitzero" doc:"The earliest time at which the budgets allow the last node to drain; absent if that is not within a week."`
	Limit   string    `json:"-"` // its previous limit of nodes; "" for none
}

// ReadRemoval reads the removal annotation of a NodePool. If its text cannot be read, the pool is still draining,
// with the zero Removal.
func ReadRemoval(pool map[string]any) (r Removal, started bool) {
	value, started := manifest.Lookup(pool, "metadata", "annotations", schemas.AnnotationRemoval)
	text, _ := value.(string)
	return parseRemoval(text), started
}

// removalOf reads the removal annotation like ReadRemoval.
func removalOf(pool *karpv1.NodePool) (r Removal, started bool) {
	text, started := pool.Annotations[schemas.AnnotationRemoval]
	return parseRemoval(text), started
}

func parseRemoval(text string) Removal {
	words := append(strings.Fields(text), "", "")
	since, sinceErr := time.Parse(time.RFC3339, words[0])
	nodes, nodesErr := strconv.Atoi(words[1])
	if sinceErr != nil || nodesErr != nil {
		return Removal{}
	}
	return Removal{Since: since.UTC(), Nodes: nodes, Limit: words[2]}
}

// String returns the text of the annotation on a NodePool that is being removed.
func (r Removal) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %d %s", r.Since.UTC().Format(time.RFC3339), r.Nodes, r.Limit))
}

// RemovalClasses returns the names of the node classes that NodePools refer to. Nodes need their class until they
// are deleted, and so does a plan that cancels a removal.
func RemovalClasses(pools []map[string]any) map[string]bool {
	used := map[string]bool{}
	for _, pool := range pools {
		used[manifest.Text(pool, "spec", "template", "spec", "nodeClassRef", "name")] = true
	}
	return used
}

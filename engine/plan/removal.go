package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// RemovalStage is how far a NodePool is, that is no longer declared, on its way out.
type RemovalStage string

// The stages.
const (
	RemoveAtOnce RemovalStage = ""         // it is deleted, and the nodes that it has with it
	StartRemoval RemovalStage = "condemn"  // it has nodes, and is to give them up from now on
	Draining     RemovalStage = "draining" // it is condemned, and has nodes left
	Drained      RemovalStage = "drained"  // it is condemned, has no node left, and is deleted
	// CancelRemoval is of a condemned NodePool that is declared again. It keeps the nodes
	// that it has left.
	CancelRemoval RemovalStage = "reprieve"
)

// NextRemoval is the stage of a live NodePool that is no longer declared.
func NextRemoval(pool map[string]any, nodes int) RemovalStage {
	switch _, condemned := ReadRemoval(pool); {
	case condemned && nodes > 0:
		return Draining
	case condemned:
		return Drained
	case nodes > 0:
		return StartRemoval
	}
	return RemoveAtOnce
}

// Removal is what is known of a condemned NodePool since its beginning.
type Removal struct {
	Since time.Time
	Nodes int    // that it had then
	Limit string // its limit of nodes before; "" where it had none
}

// ReadRemoval returns the removal that a NodePool is marked with. Where its text cannot be read, it
// is the zero Sentence, and the pool is condemned all the same.
func ReadRemoval(pool map[string]any) (s Removal, condemned bool) {
	value, condemned := manifest.Lookup(pool, "metadata", "annotations", schemas.AnnotationRemoval)
	if !condemned {
		return s, false
	}
	text, _ := value.(string)
	words := append(strings.Fields(text), "", "")
	since, sinceErr := time.Parse(time.RFC3339, words[0])
	nodes, nodesErr := strconv.Atoi(words[1])
	if sinceErr != nil || nodesErr != nil {
		return Removal{}, true
	}
	return Removal{Since: since, Nodes: nodes, Limit: words[2]}, true
}

// String is the text of the annotation.
func (s Removal) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %d %s", s.Since.UTC().Format(time.RFC3339), s.Nodes, s.Limit))
}

// RemovalClasses are the names of the node classes that NodePools refer to. Their nodes need
// them until they are gone, and so does a plan that cancels a removal.
func RemovalClasses(pools []map[string]any) map[string]bool {
	used := map[string]bool{}
	for _, pool := range pools {
		used[manifest.Text(pool, "spec", "template", "spec", "nodeClassRef", "name")] = true
	}
	return used
}

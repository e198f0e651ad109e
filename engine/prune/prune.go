// Package prune takes NodePools that are no longer declared out of the cluster
// without a gap in capacity: a pool is condemned first, its nodes go within its own
// budgets, and it is deleted when it has none left.
//
// Everything that is known of a condemned pool is on the pool itself, so that any
// process can go on where another one stopped, and a commit that declares the pool
// again takes the sentence back. The package decides; it knows no cluster to change.
package prune

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Annotation marks a condemned NodePool: since when it is, and how many nodes it had
// then. On the nodes that the pool would make, it makes those drift that it has.
// A configuration must not set it: who could, would have pools pass for condemned
// that no guard has judged.
const Annotation = "lkeplan.dev/condemned"

// Stage is how far a NodePool is, that is no longer declared, on its way out.
type Stage string

// The stages.
const (
	AtOnce   Stage = ""         // it is deleted, and the nodes that it has with it
	Condemn  Stage = "condemn"  // it has nodes, and is to give them up from now on
	Draining Stage = "draining" // it is condemned, and has nodes left
	Drained  Stage = "drained"  // it is condemned, has no node left, and is deleted
	// Reprieve is of a condemned NodePool that is declared again. It keeps the nodes
	// that it has left.
	Reprieve Stage = "reprieve"
)

// Next is the stage of a live NodePool that is no longer declared.
func Next(pool map[string]any, nodes int) Stage {
	switch _, condemned := Read(pool); {
	case condemned && nodes > 0:
		return Draining
	case condemned:
		return Drained
	case nodes > 0:
		return Condemn
	}
	return AtOnce
}

// Sentence is what is known of a condemned NodePool since its beginning.
type Sentence struct {
	Since time.Time
	Nodes int    // that it had then
	Limit string // its limit of nodes before; "" where it had none
}

// Read returns the sentence of a condemned NodePool. Where its text cannot be read, it
// is the zero Sentence, and the pool is condemned all the same.
func Read(pool map[string]any) (s Sentence, condemned bool) {
	value, condemned := manifest.Lookup(pool, "metadata", "annotations", Annotation)
	if !condemned {
		return s, false
	}
	text, _ := value.(string)
	words := append(strings.Fields(text), "", "")
	since, sinceErr := time.Parse(time.RFC3339, words[0])
	nodes, nodesErr := strconv.Atoi(words[1])
	if sinceErr != nil || nodesErr != nil {
		return Sentence{}, true
	}
	return Sentence{Since: since, Nodes: nodes, Limit: words[2]}, true
}

// String is the text of the annotation.
func (s Sentence) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %d %s", s.Since.UTC().Format(time.RFC3339), s.Nodes, s.Limit))
}

// Classes are the names of the node classes that NodePools refer to. Their nodes need
// them until they are gone, and so does whoever takes a sentence back.
func Classes(pools []map[string]any) map[string]bool {
	used := map[string]bool{}
	for _, pool := range pools {
		used[manifest.Text(pool, "spec", "template", "spec", "nodeClassRef", "name")] = true
	}
	return used
}

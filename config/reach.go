package config

import (
	"github.com/lkeplan/lkeplan/config/load"
	"github.com/lkeplan/lkeplan/schemas"
)

// Reach returns what the module compiles from.
func (m *Module) Reach() load.Reach { return m.tree.Reach() }

// IsCluster reports whether the module is the configuration of a cluster, and not one
// that others call.
func (m *Module) IsCluster() bool { return len(m.tree.Root.Blocks.OfType(schemas.Cluster.Type)) > 0 }

// Graph returns the names of the directory and the references between them, as they are
// written.
func (m *Module) Graph() graph { return GraphOf(m.tree.Root.Blocks) }

package config

import (
	"github.com/lkeplan/lkeplan/config/load"
	"github.com/lkeplan/lkeplan/schemas"
)

// Reach returns the files that the module compiles from.
func (m *Module) Reach() load.Reach { return m.tree.Reach() }

// IsCluster reports whether the module configures a cluster, and is not a module for others to
// call.
func (m *Module) IsCluster() bool { return len(m.tree.Root.Blocks.OfType(schemas.Cluster.Type)) > 0 }

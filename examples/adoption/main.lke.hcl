# Changing what runs already: blocks with other labels, objects that somebody
# else has made, blocks that are gone, and a rule for what a change may do.

cluster {
  name   = "prod"
  region = "us-ord"
}

node_class "default" {}

pool "frontend" {
  node_class   = node_class.default
  requirements = { class = "dedicated", cpu = between(4, 16) }
  limits       = { cpu = 200 }
}

# The name in the cluster, where it is not that of the block.
pool "legacy" {
  name         = "pool-2023"
  node_class   = node_class.default
  requirements = { instance_type = "g6-standard-8" }
  limits       = { cpu = 48 }
}

# The block was pool "web" before. Without this, the object "web" would be
# deleted, with its nodes, and "frontend" be made.
moved {
  from = pool.web
  to   = pool.frontend
}

# The object was made by hand; from now on it is managed here.
import {
  to = pool.legacy
  id = "pool-2023"
}

# No longer managed here. The object and its nodes stay as they are.
removed {
  from   = pool.batch
  delete = false
}

# A policy sees what a change does, where a check sees what is written.
policy "no_mass_roll" {
  condition     = plan.nodes.rolled <= 0.25 * plan.nodes.total
  error_message = "This change rolls ${plan.nodes.rolled} of ${plan.nodes.total} nodes. Split it."
}

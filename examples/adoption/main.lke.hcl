# Later changes: renamed blocks, objects that another tool created,
# removed blocks, and a policy that limits what a change may do.

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

# The object's name in the cluster, if it differs from the block's label.
pool "legacy" {
  name         = "pool-2023"
  node_class   = node_class.default
  requirements = { instance_type = "g6-standard-8" }
  limits       = { cpu = 48 }
}

# pool "frontend" was pool "web" before. Without moved, the object "web"
# would be deleted with its nodes, and "frontend" would be created.
moved {
  from = pool.web
  to   = pool.frontend
}

# The object was created manually. From now on, this configuration manages it.
import {
  to = pool.legacy
  id = "pool-2023"
}

# This directory no longer manages the object. The object and its nodes stay.
removed {
  from   = pool.batch
  delete = false
}

# A policy checks what a change does. A check block checks the configuration.
policy "no_mass_roll" {
  condition     = plan.nodes.rolled <= 0.25 * plan.nodes.total
  error_message = "This change rolls ${plan.nodes.rolled} of ${plan.nodes.total} nodes. Split it."
}

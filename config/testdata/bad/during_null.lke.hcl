pool "web" {
  node_class = node_class.default

  during "night" { # want: Empty during block: The during block "night" replaces no argument. Possible arguments: limits, weight, replicas, disruption. A value that is null or empty replaces nothing.
    schedule = "0 20 * * *"
    duration = "10h"
    limits   = { cpu = null }
  }
}

pool "web" {
  node_class = node_class.default

  during "night" {
    schedule = "0 20 * * *"
    duration = "10h"
    replicas = 1 # want: Pool without replicas: The during block "night" sets replicas, and the pool does not
  }
}

# The smallest useful directory. objects.yaml has the same objects as
# YAML. To compile this one: lkeplan render examples/side-by-side/smallest

cluster {
  name   = "dev"
  region = "us-ord"
}

node_class "default" {}

pool "general" {
  node_class = node_class.default

  # lkeplan:ignore uncapped-plan-size kept short for the comparison with YAML
  requirements = { arch = "amd64", os = "linux" }
  expire_after = "720h"
  limits       = { cpu = 1000 }
}

# The pools of all clusters. The directory of each cluster calls this module.

node_class "default" {}

pool "general" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = between(4, 8) }
  limits       = { cpu = 40 }
}

pool "web" {
  node_class    = node_class.default
  requirements  = { cpu = between(2, 8) }
  expire_after  = "Never"
  refresh_after = "24h"
}

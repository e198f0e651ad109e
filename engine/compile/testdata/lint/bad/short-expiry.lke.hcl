pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  expire_after = "12h" # want: Nodes expire within a day: Each node is drained 12h after its creation, regardless of budgets, and Linode bills whole hours. To get new node images, set expire_after to several days, such as "336h". To save money, use consolidation in the disruption block. More: lkeplan explain short-expiry.
}

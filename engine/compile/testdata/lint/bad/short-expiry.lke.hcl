pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  expire_after = "12h" # want: Nodes expire within a day: Each node is drained 12h after its creation, regardless of budgets, and each started hour is billed. An age of days is enough for updates; use disruption to save money.
}

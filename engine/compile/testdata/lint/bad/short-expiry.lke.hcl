pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  expire_after = "12h" # want: Nodes expire within a day: Each node is drained 12h after it was made, whatever budgets say
}

pool "web" {
  node_class = node_class.default
  requirements = {
    instance_type = ["g6-standard-2", "g8-dedicated-32-8"] # want: Price or size of a plan is unknown: The plan g8-dedicated-32-8 is sold, but its price is not in the price catalogue (date unknown) (list of ids, autumn 2026; size by the id; disk and price unknown). Plans and simulations leave it out. Pin today's catalogue: lkeplan catalog refresh.
  }
}

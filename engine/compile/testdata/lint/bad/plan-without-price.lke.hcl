pool "web" {
  node_class = node_class.default
  requirements = {
    instance_type = ["g6-standard-2", "g8-dedicated-32-8"] # want: Price or size of a plan type is unknown: Linode sells the plan type g8-dedicated-32-8, but the price catalogue (list of ids, autumn 2026; size by the id; disk and price unknown) does not have its price. Costs and simulations leave the plan type out. To update the catalogue, run "lkeplan catalog refresh". More: lkeplan explain plan-without-price.
  }
}

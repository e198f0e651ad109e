limits "all" {
  nodes = 4
}

locals {
  a = limits.all.nodes # want: Unknown name: References to limits blocks are not possible. To use an amount in several places, declare a local.
}

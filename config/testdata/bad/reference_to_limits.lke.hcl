limits "all" {
  nodes = 4
}

locals {
  a = limits.all.nodes # want: Unknown name: Nothing refers to limits blocks. To use an amount in several places, make it a local.
}

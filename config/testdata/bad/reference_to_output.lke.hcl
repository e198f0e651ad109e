limits "all" {
  nodes = 4
}

locals {
  a = output.a # want: Unknown name: Outputs do not exist.
}

limits "all" {
  nodes = 4
}

locals {
  a = output.a # want: Unknown name: There are no outputs.
}

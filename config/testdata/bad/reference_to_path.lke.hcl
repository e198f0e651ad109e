limits "all" {
  nodes = 4
}

locals {
  a = path.module # want: Unknown name: Paths are from the directory of the file they are in
}

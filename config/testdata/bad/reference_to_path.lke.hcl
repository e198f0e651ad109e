limits "all" {
  nodes = 4
}

locals {
  a = path.module # want: Unknown name: Paths are relative to the directory of the file, as in file("teams.yaml").
}

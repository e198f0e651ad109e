locals {
  a = 1
}

locals {
  a = 2 # want: Duplicate name: A local named "a" was already declared at local_twice.lke.hcl:2.
}

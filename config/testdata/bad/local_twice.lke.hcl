locals {
  a = 1
}

locals {
  a = 2 # want: Name used twice: There is a local named "a" already, at local_twice.lke.hcl:2.
}

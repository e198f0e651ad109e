locals {
  v = "0.3"
}

lkeplan {
  required_version = local.v # want: Text written out is required
}

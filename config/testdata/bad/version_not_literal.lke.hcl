locals {
  v = "0.3"
}

lkeplan {
  required_version = local.v # want: Literal text required
}

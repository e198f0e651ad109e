locals {
  size = 1
}

variable "size" {
  default = local.size # want: Unknown name: The value of a variable must be literal, so it cannot refer to "local". To compute a value, declare a local.
}

locals {
  size = 1
}

variable "size" {
  default = local.size # want: Unknown name: This value is needed before anything can be referred to, so it is written out.
}

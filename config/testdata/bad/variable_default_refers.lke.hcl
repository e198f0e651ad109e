locals {
  size = 1
}

variable "size" {
  default = local.size # want: Unknown name: The value of a variable is written out and refers to nothing, and so not to "local". To work a value out, use a local.
}

variable "size" {
  type    = number
  default = "large" # want: Wrong type for default: The default of var.size does not have the declared type: a number is required.
}

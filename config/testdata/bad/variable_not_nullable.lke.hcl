variable "a" {
  nullable = false
  default  = null # want: Null for a variable that takes none: With nullable = false, the default of var.a stands for null, so it cannot be null itself.
}

variable "b" {
  nullable = var.a # want: Wrong type of value: The argument nullable is true or false, written out.
  default  = 1
}

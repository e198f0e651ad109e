variable "a" {
  nullable = false
  default  = null # want: Null for a variable that is not nullable: With nullable = false, the default of var.a replaces null, so the default cannot be null.
}

variable "b" {
  nullable = var.a # want: Wrong type of value: The argument nullable must be the literal true or false.
  default  = 1
}

variable "size" {
  default = 5

  validation {
    condition     = true # want: Constant condition: The condition contains no references, so it checks nothing. Refer to the value that it must check, such as var.NAME.
    error_message = "Never."
  }
}

variable "size" {
  default = 5

  validation {
    condition     = true # want: Constant condition: The condition contains no references, so it is always true or always false.
    error_message = "Never."
  }
}

variable "size" {
  default = 5

  validation {
    condition     = true # want: Condition that never changes: The condition refers to nothing
    error_message = "Never."
  }
}

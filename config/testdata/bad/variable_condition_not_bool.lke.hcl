variable "size" {
  default = 5

  validation {
    condition     = [var.size] # want: Invalid condition: A condition must be true or false.
    error_message = "Never."
  }
}

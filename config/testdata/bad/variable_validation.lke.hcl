variable "size" {
  type    = number
  default = 5

  validation {
    condition     = var.size < 4 # want: Invalid value for variable: The size 5 is not less than 4.
    error_message = "The size ${var.size} is not less than 4."
  }
}

# Not reported: it follows from the above.
pool "web" {
  node_class = node_class.default
  weight     = var.size == 5 ? "x" : 1
}

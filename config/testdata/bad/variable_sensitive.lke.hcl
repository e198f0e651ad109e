variable "token" {
  default   = "x"
  sensitive = true # want: Unsupported argument: The argument sensitive does not exist. A configuration contains no secrets, and a plan shows all values.
}

variable "token" {
  default   = "x"
  sensitive = true # want: Unsupported argument: There is no sensitive. A configuration holds no secrets, and a plan shows all of it.
}

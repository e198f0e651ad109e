variable "token" {
  default   = "x"
  sensitive = true # want: Unsupported argument: An argument named "sensitive" is not expected here.
}

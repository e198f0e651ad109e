# only # want: No cluster: The directory does not say which cluster it is for. Add: cluster { name = "NAME" region = "us-ord" }, each argument on a line of its own. If it is a module, validate a directory that calls it
variable "a" {
  default = 1
}

# only # want: No cluster: The directory declares no cluster.
variable "a" {
  default = 1
}

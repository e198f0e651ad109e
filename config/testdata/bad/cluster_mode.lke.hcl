# only
cluster {
  name   = "a"
  region = "us-ord"
  mode   = "instances" # want: Unknown value: The argument mode is "instances". It must be "lke" or "instance". Did you mean "instance"?
}

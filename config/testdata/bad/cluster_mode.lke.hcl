# only
cluster {
  name   = "a"
  region = "us-ord"
  mode   = "instances" # want: Unknown value: The argument mode must be one of lke, instance, not "instances". Did you mean "instance"?
}

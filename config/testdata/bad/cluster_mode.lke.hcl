# only
cluster {
  name   = "a"
  region = "us-ord"
  mode   = "instances" # want: Unknown value: The argument mode is one of lke, instance, and not "instances". Did you mean "instance"?
}

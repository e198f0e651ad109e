# only
cluster {
  name   = "a"
  id     = 7 # want: Argument not allowed in instance mode: The argument id is not allowed with mode = "instance". It is an id in LKE. Delete the argument.
  region = "us-ord"
  mode   = "instance"
}

# only
cluster {
  name   = "a"
  id     = 7 # want: Not in instance mode: The argument id does not go with mode = "instance". It is a number of LKE's. Take it out.
  region = "us-ord"
  mode   = "instance"
}

# only
cluster {
  name      = "a"
  region    = "us-ord"
  gpu_plans = true # want: Not in instance mode: The argument gpu_plans does not go with mode = "instance". Linode sells GPU plans to all who make Linodes. Take it out.
  mode      = "instance"
}

# only
cluster {
  name      = "a"
  region    = "us-ord"
  gpu_plans = true # want: Argument not allowed in instance mode: The argument gpu_plans is not allowed with mode = "instance". Linode sells GPU plans to all who create Linodes. Delete the argument.
  mode      = "instance"
}

# only
cluster {
  name   = "a"
  region = "us-ord"
  tier   = "enterprise" # want: Argument not allowed in instance mode: The argument tier is not allowed with mode = "instance". Only LKE has tiers. Delete the argument.
  mode   = "instance"
}

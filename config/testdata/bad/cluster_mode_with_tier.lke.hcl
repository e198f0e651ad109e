# only
cluster {
  name   = "a"
  region = "us-ord"
  tier   = "enterprise" # want: Not in instance mode: The argument tier does not go with mode = "instance". Only LKE has tiers. Take it out.
  mode   = "instance"
}

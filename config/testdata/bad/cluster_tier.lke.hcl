# only
cluster {
  name   = "a"
  region = "us-ord"
  tier   = "premium" # want: Unknown value: The argument tier must be one of standard, enterprise, not "premium".
}

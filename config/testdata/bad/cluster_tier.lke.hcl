# only
cluster {
  name   = "a"
  region = "us-ord"
  tier   = "premium" # want: Unknown value: The argument tier is one of standard, enterprise, and not "premium".
}

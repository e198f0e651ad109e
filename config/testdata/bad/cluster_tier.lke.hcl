# only
cluster {
  name   = "a"
  region = "us-ord"
  tier   = "premium" # want: Unknown value: The argument tier is "premium". It must be "standard" or "enterprise".
}

# alone
cluster {
  name   = "a"
  region = "us-ord"
  tier   = "premium" # want: Invalid tier: LKE has the tiers "standard" and "enterprise", not "premium".
}

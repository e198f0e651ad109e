# only
cluster {
  name   = "CHANGE-ME" # want: Invalid cluster name: CHANGE-ME is a placeholder.
  region = "us-ord"
}

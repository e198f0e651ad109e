# only
cluster {
  name   = "CHANGE-ME" # want: Invalid cluster name: CHANGE-ME is not the name of a cluster. Write the cluster
  region = "us-ord"
}

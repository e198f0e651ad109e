# only
cluster {
  name   = "" # want: Invalid cluster name: The name is empty. The name of a cluster is its label in LKE.
  region = "us-ord"
}

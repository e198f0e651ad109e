# only
cluster {
  name   = "" # want: Invalid cluster name: The name is empty. It is the cluster
  region = "us-ord"
}

# only
cluster {
  name   = "My Cluster!" # want: Invalid cluster name: "My Cluster!" cannot be a cluster
  region = "us-ord"
}

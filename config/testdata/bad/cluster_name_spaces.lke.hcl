# only
cluster {
  name   = "My Cluster!" # want: Invalid cluster name: "My Cluster!" cannot be the name of a cluster. It is the cluster's label in LKE. It has letters, digits, dashes, underscores and dots, and starts and ends with a letter or digit.
  region = "us-ord"
}

# only
cluster {
  name   = "My Cluster!" # want: Invalid cluster name: "My Cluster!" cannot be the name of a cluster. The name of a cluster is its label in LKE: letters, digits, dashes, underscores and dots, with a letter or digit at both ends.
  region = "us-ord"
}

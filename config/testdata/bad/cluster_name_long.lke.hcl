# only
cluster {
  name   = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" # want: Invalid cluster name: The name has 64 characters, and objects have it as a label of at most 63 characters. The name of a cluster is its label in LKE.
  region = "us-ord"
}

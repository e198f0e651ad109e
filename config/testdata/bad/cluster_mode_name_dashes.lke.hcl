# only
cluster {
  name   = "a--b" # want: Invalid cluster name: "a--b" cannot be the name of a cluster in instance mode: the labels of Linodes and the names of Nodes start with the name of the cluster, so it can contain only lower-case letters, digits and single dashes, with a letter or digit at both ends.
  region = "us-ord"
  mode   = "instance"
}

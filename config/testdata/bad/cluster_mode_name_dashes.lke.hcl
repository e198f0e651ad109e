# only
cluster {
  name   = "a--b" # want: Invalid cluster name: "a--b" cannot be the name of a cluster in instance mode: labels of Linodes and names of Nodes start with it, so it can contain lower-case letters, digits and single dashes, with a letter or digit at both ends.
  region = "us-ord"
  mode   = "instance"
}

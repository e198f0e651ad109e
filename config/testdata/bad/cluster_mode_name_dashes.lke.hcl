# only
cluster {
  name   = "a--b" # want: Invalid cluster name: "a--b" cannot be the name of a cluster in instance mode: it is the beginning of Linodes' labels
  region = "us-ord"
  mode   = "instance"
}

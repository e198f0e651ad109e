# only
cluster {
  name   = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" # want: Invalid cluster name: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" cannot be the name of a cluster in instance mode: it has 35 characters; a Linode's tags allow 34.
  region = "us-ord"
  mode   = "instance"
}

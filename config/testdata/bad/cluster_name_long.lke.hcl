# only
cluster {
  name   = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" # want: Invalid cluster name: The name has 64 characters; the label of objects allows 63.
  region = "us-ord"
}

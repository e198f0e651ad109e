# only
cluster {
  name   = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" # want: Invalid cluster name: The name has 64 characters, and 63 fit into the label that objects carry.
  region = "us-ord"
}

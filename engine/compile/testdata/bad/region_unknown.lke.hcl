# only
cluster {
  name   = "test"
  region = "us-odr" # want: Unknown region: The price catalogue (date unknown) has no region "us-odr". Did you mean "us-ord"? If Linode has added it since, run lkeplan catalog refresh to get today's catalogue. More: lkeplan explain unknown-region.
}

node_class "default" {}

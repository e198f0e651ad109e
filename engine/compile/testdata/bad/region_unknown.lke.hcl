# only
cluster {
  name   = "test"
  region = "us-odr" # want: Unknown region: The price catalogue has no region "us-odr". Did you mean "us-ord"? If the region is new, run "lkeplan catalog refresh" to update the catalogue. More: lkeplan explain unknown-region.
}

node_class "default" {}

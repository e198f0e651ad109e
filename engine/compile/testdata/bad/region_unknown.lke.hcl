# only
cluster {
  name   = "test"
  region = "us-odr" # want: Unknown region: The price catalogue (date unknown) has no region "us-odr". Did you mean "us-ord"? If it is new, get today's catalogue: lkeplan catalog refresh. More: lkeplan explain unknown-region.
}

node_class "default" {}

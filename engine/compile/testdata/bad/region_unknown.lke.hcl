# only
cluster {
  name   = "test"
  region = "us-odr" # want: Unknown region: Linode has no region "us-odr" according to the price catalogue
}

node_class "default" {}

# only
cluster {
  name   = "test"
  region = "us-odr" # want: Unknown region: Linode has no region "us-odr" by the price list
}

node_class "default" {}

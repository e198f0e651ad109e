# only
cluster {
  name   = "test"
  region = "us-odr" # want: Unknown region: Linode has no region "us-odr", as of
}

node_class "default" {}

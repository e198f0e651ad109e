# What the documents of this directory are compiled together with.

cluster {
  name   = "test"
  region = "us-ord"
}

node_class "default" {}

# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "apart" {
  image = "linode/debian12"

  placement_group {
    per_pool = "strict"
  }
}

node_class "rest" {
  image = "linode/debian12"
}

pool "quorum" {
  node_class   = node_class.apart
  requirements = { cpu = lte(16) }
  weight       = 10
}

pool "web" {
  node_class   = node_class.rest
  requirements = { cpu = between(2, 8) }
}

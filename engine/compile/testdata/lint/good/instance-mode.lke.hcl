# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

# What LKE has no setting for, on a standard cluster a firewall.
node_class "default" {
  image       = "linode/debian12"
  firewall_id = 7

  kubelet {
    max_pods = 50
  }
}

# Labels that LKE would refuse, and more nodes than it has.
pool "web" {
  node_class = node_class.default
  labels     = { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.example.com/team" = "web" }
  limits     = { nodes = 400, cpu = 1000 }

  requirements = {
    class = "dedicated"
    cpu   = between(2, 8)
  }
}

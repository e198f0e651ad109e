cluster {
  name   = "sandbox"
  region = "us-ord"
  mode   = "instance"
}

node_class "default" {
  image = "linode/ubuntu24.04"
  tags  = ["team=web"]

  kubelet {
    max_pods      = 50
    kube_reserved = { memory = "200Mi" }
  }
}

# Plans of 4 CPUs alone, and nothing that slows the end down.
pool "four" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 4 }

  disruption {
    consolidate_after = "5s" # lkeplan:ignore consolidate-before-hour tests do not wait

    budget {
      nodes = "100%"
    }
  }
}

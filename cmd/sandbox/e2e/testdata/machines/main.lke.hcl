cluster {
  name   = "sandbox"
  region = "us-ord"
  mode   = "instance"
}

node_class "default" {
  image = "linode/debian12"

  bootstrap {
    kind = "kubeadm"
  }

  kubelet {
    max_pods        = 60
    kube_reserved   = { cpu = "100m", memory = "300Mi" }
    system_reserved = { cpu = "100m", memory = "200Mi" }
    # Machines share the disk of their host, of which not much may be free.
    eviction_hard = { "memory.available" = "200Mi", "nodefs.available" = "100Mi" }
    eviction_soft = { "memory.available" = "300Mi" }

    eviction_soft_grace_period = { "memory.available" = "90s" }
  }
}

# Nothing that slows the end down.
pool "two" {
  node_class = node_class.default
  labels     = { "example.com/tier" = "web", "node.kubernetes.io/kind" = "real" }
  taints     = ["example.com/dedicated=cpu:NoSchedule"]

  requirements = {
    class = "standard"
    cpu   = 2
  }

  disruption {
    consolidate_after = "5s" # lkeplan:ignore consolidate-before-hour tests do not wait

    budget {
      nodes = "100%"
    }
  }
}

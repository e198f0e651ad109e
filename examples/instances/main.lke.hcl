# Nodes of a cluster that you run by yourself on Linodes: the controller makes
# each Linode, and it joins by kubeadm.
cluster {
  # The CLUSTER_NAME of the controller; Linodes and Nodes are named after it.
  name   = "self-run"
  region = "us-ord"
  mode   = "instance"
}

# Labels in place of numbers: the same class serves every region in which there
# is an image, a VPC and a subnet of these labels.
node_class "nodes" {
  image_label    = "kubeadm-node"
  firewall_label = "nodes"
  vpc_label      = "prod"
  subnet_label   = "workers"

  bootstrap {
    kind = "kubeadm"
  }

  # The kubelet keeps this back, so pods are planned with the rest.
  kubelet {
    max_pods        = 60
    kube_reserved   = { cpu = "100m", memory = "500Mi" }
    system_reserved = { cpu = "100m", memory = "300Mi" }
    eviction_hard   = { "memory.available" = "200Mi" }
  }
}

pool "general" {
  node_class = node_class.nodes
  weight     = 10

  requirements = {
    class = "standard"
    cpu   = between(2, 8)
  }

  disruption {
    consolidate_after = "15m"

    budget {
      nodes = "10%"
    }
  }
}

# For pods that ask for CPUs of their own.
pool "dedicated" {
  node_class = node_class.nodes
  taints     = ["example.com/dedicated=cpu:NoSchedule"]

  requirements = {
    class = "dedicated"
    cpu   = between(4, 16)
  }

  disruption {
    consolidate_after = "15m"

    budget {
      nodes = 1
    }
  }
}

# What both pools may cost together. Linode has limits of its own for an
# account, which it does not tell.
limits "all" {
  nodes        = 20
  monthly_cost = 1000
}

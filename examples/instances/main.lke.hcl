# Nodes of a cluster that you run yourself on Linodes: the
# controller creates each Linode, which joins with kubeadm.
cluster {
  # The CLUSTER_NAME of the controller. The names of Linodes and Nodes begin with it.
  name   = "self-run"
  region = "us-ord"
  mode   = "instance"
}

# With labels instead of IDs, the same node class works in each
# region that has an image, a VPC and a subnet with these labels.
node_class "nodes" {
  image_label    = "kubeadm-node"
  firewall_label = "nodes"
  vpc_label      = "prod"
  subnet_label   = "workers"

  bootstrap {
    kind = "kubeadm"
  }

  # The kubelet reserves these resources. Pods can use only the rest.
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

# For pods that request dedicated CPUs.
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

# The limit on both pools together. Linode also limits each
# account, but does not publish these limits.
limits "all" {
  nodes        = 20
  monthly_cost = 1000
}

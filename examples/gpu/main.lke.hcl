# Nodes with GPUs, for pods that ask for one and for no others.

cluster {
  name   = "prod"
  region = "us-southeast" # not every region sells GPUs: lkeplan says so
}

node_class "default" {}

# Everything else goes here: the pods of the system, too.
pool "general" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = between(2, 8) }
  limits       = { cpu = 64 }
}

pool "gpu" {
  node_class = node_class.default

  # One or two cards in a node. Without a bound a pod that asks for one card may
  # get a share of a machine with four.
  requirements = { class = "gpu", gpu_count = lte(2) }

  # A pod without this toleration would fill a machine of $1000 with web servers.
  taints = ["nvidia.com/gpu:NoSchedule"]

  # Cards are counted as CPUs are.
  limits = { "nvidia.com/gpu" = 4, cpu = 64 }

  disruption {
    # A node is given back when it is empty, and pods are never moved to save money:
    # a training run that is evicted begins anew.
    policy            = "WhenEmpty"
    consolidate_after = "30m"

    budget {
      nodes = 1
    }
  }
}

# Whatever the pools allow, all GPUs cost no more than this.
limits "gpu" {
  pools        = [pool.gpu]
  monthly_cost = 4000
}

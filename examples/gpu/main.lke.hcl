# Nodes with GPUs, only for pods that request one.

cluster {
  name   = "prod"
  region = "us-southeast" # not every region sells GPUs: validate reports it
}

node_class "default" {}

# All other pods run here, including system pods.
pool "general" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = between(2, 8) }
  limits       = { cpu = 64 }
}

pool "gpu" {
  node_class = node_class.default

  # One or two GPUs in a node. Without this limit, a pod that
  # requests one GPU could get a node with four GPUs.
  requirements = { class = "gpu", gpu_count = lte(2) }

  # Without this taint, web servers could fill a node that costs $1,000 a month.
  taints = ["nvidia.com/gpu:NoSchedule"]

  # GPUs are counted like CPUs.
  limits = { "nvidia.com/gpu" = 4, cpu = 64 }

  disruption {
    # A node is deleted when it is empty. Pods are never moved
    # to save money: an evicted training run would start again.
    policy            = "WhenEmpty"
    consolidate_after = "30m"

    budget {
      nodes = 1
    }
  }
}

# The maximum cost of all GPU nodes together.
limits "gpu" {
  pools        = [pool.gpu]
  monthly_cost = 4000
}

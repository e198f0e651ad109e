pool "web" {
  node_class = node_class.default
  limits = {
    cpus             = 600   # want: Unknown resource: No node has a resource "cpus", so the limit would have no effect. Did you mean "cpu"?
    mem              = "4Gi" # want: Unknown resource: No node has a resource "mem", so the limit would have no effect.
    node             = 3     # want: Unknown resource: No node has a resource "node", so the limit would have no effect. Did you mean "nodes"?
    "kubernetes.io/cpu" = 3 # want: Unknown resource: No node has a resource "kubernetes.io/cpu", so the limit would have no effect.
    "nvidia.com/gpus" = 1    # want: Unknown resource: No node has a resource "nvidia.com/gpus", so the limit would have no effect. Did you mean "nvidia.com/gpu"?
    "example.com/fpga" = 1
  }
}

buffer "room" {
  namespace = "default"
  replicas  = 1
  pod_template = "room"
  limits    = { nodes = 4 } # want: Unknown resource: No node has a resource "nodes", so the limit would have no effect.
}

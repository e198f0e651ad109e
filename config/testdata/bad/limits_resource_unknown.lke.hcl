pool "web" {
  node_class = node_class.default
  limits = {
    cpus             = 600   # want: Unknown resource: Nothing has a resource "cpus", so this would limit nothing. Did you mean "cpu"? The names are cpu, memory, nodes, pods, ephemeral-storage,
    mem              = "4Gi" # want: Unknown resource: Nothing has a resource "mem"
    node             = 3     # want: Unknown resource: Nothing has a resource "node", so this would limit nothing. Did you mean "nodes"?
    "kubernetes.io/cpu" = 3 # want: Unknown resource: Nothing has a resource "kubernetes.io/cpu"
    "nvidia.com/gpus" = 1    # want: Unknown resource: Nothing has a resource "nvidia.com/gpus", so this would limit nothing. Did you mean "nvidia.com/gpu"?
    "example.com/fpga" = 1
  }
}

buffer "room" {
  namespace = "default"
  replicas  = 1
  pod_template = "room"
  limits    = { nodes = 4 } # want: Unknown resource: Nothing has a resource "nodes"
}

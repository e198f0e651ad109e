pool "web" {
  node_class   = node_class.default
  requirements = { class = "gpu", gpu_count = 1, cpu = lte(16) }
}

pool "web" {
  node_class = node_class.default
  name       = join("", [for a in range(1024) : join("", [for b in range(1024) : "xxxxxxxxxx"])]) # want: Too much work: This expression exceeds the limit for evaluation.
}

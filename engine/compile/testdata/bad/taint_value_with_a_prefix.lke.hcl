pool "web" {
  node_class = node_class.default
  taints     = ["team=example.com/web:NoSchedule"] # want: Invalid label: "example.com/web" cannot be the value of a taint:
}

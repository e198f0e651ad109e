pool "web" {
  node_class = node_class.default
  taints     = ["team=linode.com:NoSchedule"] # want: Label that LKE refuses: LKE reserves the taint value "linode.com".
}

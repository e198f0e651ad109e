pool "web" {
  node_class = node_class.default
  taints     = ["team=linode.com:NoSchedule"] # want: LKE refuses the label: LKE reserves the taint value "linode.com". More: lkeplan explain label-refused.
}

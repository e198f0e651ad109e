pool "web" {
  node_class = node_class.default
  taints     = ["team=linode.com:NoSchedule"] # want: Label that LKE refuses: LKE keeps the value "linode.com" of taints to itself.
}

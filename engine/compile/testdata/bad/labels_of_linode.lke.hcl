pool "web" {
  node_class = node_class.default
  requirements = {
    "lke.linode.com/pool-id"      = "5"       # want: Label of Linode: Linode writes lke.linode.com/pool-id on nodes, with its own values: a pod that selects another value gets a new node again and again. Pods can select karpenter.sh/nodepool, the name of their pool, or a label of your own, such as example.com/team.
    "topology.linode.com/region"  = "eu-west" # want: Label of Linode: Linode writes topology.linode.com/region on nodes, with its own values: a pod that selects another value gets a new node again and again. Delete it: all nodes are in the region of the cluster.
  }
  labels = {
    "node.k8s.linode.com/host-uuid" = "abc" # want: Label of Linode: Linode writes node.k8s.linode.com/host-uuid on nodes
    "linode.com/x"                  = "a"   # want: Label of Linode
    "notlinode.com/x"               = "a"
  }
  taints         = ["lke.linode.com/t:NoSchedule"]                           # want: Label of Linode
  startup_taints = ["maintenance.linode.com/upcoming-maintenance:NoExecute"] # want: Label of Linode: Linode writes maintenance.linode.com/upcoming-maintenance on nodes, with its own values: a pod that selects another value gets a new node again and again. Delete it. To replace
}

overlay "cheap" {
  requirements = { "lke.linode.com/pool-id" = "5" } # want: Label of Linode
  price        = "0.1"
}

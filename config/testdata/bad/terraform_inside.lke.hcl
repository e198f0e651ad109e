pool "web" {
  node_class = node_class.default
  depends_on = [node_class.default] # want: Unsupported argument: The argument depends_on does not exist. Node classes are applied before the pools that refer to them.
  max_size   = 4                    # want: Unsupported argument: To limit the number of nodes, set limits = { nodes = 10 }.

  lifecycle { # want: Unsupported block type: The block lifecycle does not exist.
    prevent_destroy = true
  }

  taint { # want: Unsupported block type: The argument is taints, as in taints = ["team=web:NoSchedule"].
    key = "a"
  }

  requirement { # want: Unsupported block type: The argument is requirements, as in requirements = { arch = "amd64", cpu = lte(16) }.
    key = "a"
  }
}

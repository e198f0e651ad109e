pool "web" {
  node_class = node_class.default
  depends_on = [node_class.default] # want: Unsupported argument: There is no depends_on. Node classes are applied before the pools that refer to them.
  max_size   = 4                    # want: Unsupported argument: The most that a pool grows to is limits = { nodes = 10 }.

  lifecycle { # want: Unsupported block type: There is no lifecycle. What must not be deleted is named in guards { protected = [pool.NAME] };
    prevent_destroy = true
  }

  taint { # want: Unsupported block type: Taints are one argument: taints = ["team=web:NoSchedule"].
    key = "a"
  }

  requirement { # want: Unsupported block type: Requirements are one argument: requirements = { arch = "amd64", cpu = lte(16) }.
    key = "a"
  }
}

cluster {
  name   = "sandbox"
  region = "us-ord"
}

node_class "default" {}

# Nothing that slows the end down.
pool "two" {
  node_class = node_class.default
  labels     = { "example.com/tier" = "web", "node.kubernetes.io/kind" = "real" }
  taints     = ["example.com/dedicated=cpu:NoSchedule"]

  requirements = {
    class = "standard"
    cpu   = 2
  }

  disruption {
    consolidate_after = "5s" # lkeplan:ignore consolidate-before-hour tests do not wait

    budget {
      nodes = "100%"
    }
  }
}

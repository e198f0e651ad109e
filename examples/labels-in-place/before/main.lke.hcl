lkeplan {
  directory = "general"
}

cluster {
  name   = "production"
  region = "us-ord"
}

node_class "default" {}

pool "general" {
  node_class   = node_class.default
  requirements = { cpu = lte(16) }
  labels       = { "example.com/team" = "checkout", "example.com/disk" = "local" }
  in_place     = ["example.com/team"]

  disruption {
    consolidate_after = "Never"
  }
}

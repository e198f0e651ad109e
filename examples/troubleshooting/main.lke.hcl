# A small cluster in which pods wait and nodes stay, each for a reason of its own.

cluster {
  name   = "prod"
  region = "us-ord"
}

node_class "default" {}

pool "general" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 4 }
  limits       = { cpu = 8 }

  disruption {
    # lkeplan:ignore consolidate-before-hour short, for you to see what is decided
    consolidate_after = "0s"
  }
}

# A small cluster in which pods stay pending, or nodes stay, for different reasons.

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
    # lkeplan:ignore consolidate-before-hour short, so that you can watch the decisions
    consolidate_after = "0s"
  }
}

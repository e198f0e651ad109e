# What the NodePlan of ../../fleet.yaml keeps applied.

cluster {
  name   = "prod"
  region = "us-ord"
}

node_class "default" {}

pool "general" {
  node_class   = node_class.default
  requirements = { class = ["standard", "dedicated"], cpu = between(4, 16) }
  limits       = { cpu = 200 }
}

# Read from the last applied commit: a commit cannot lift its own guard.
guards {
  protected = [pool.general]
}

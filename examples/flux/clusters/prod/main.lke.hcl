# The NodePlan in ../../fleet.yaml applies this directory.

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

# Guards are read from the last applied commit, so a commit cannot disable the guards that check it.
guards {
  protected = [pool.general]
}

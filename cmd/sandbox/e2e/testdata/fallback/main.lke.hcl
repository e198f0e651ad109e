cluster {
  name   = "sandbox"
  region = "us-ord"
}

node_class "default" {}

# Plans of 4 CPUs: shared, and dedicated for half as much again.
pool "any" {
  node_class   = node_class.default
  requirements = { class = ["standard", "dedicated"], cpu = 4 }
}

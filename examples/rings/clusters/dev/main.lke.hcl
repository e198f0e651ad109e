cluster {
  name   = "dev"
  region = "eu-central"
}

module "order" {
  source = "../../order"
}

node_class "default" {}

pool "general" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = between(4, 8) }
  limits       = { cpu = 40 }
}

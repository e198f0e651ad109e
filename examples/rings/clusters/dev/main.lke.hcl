cluster {
  name   = "dev"
  region = "eu-central"
}

module "pools" {
  source = "../../pools"
}

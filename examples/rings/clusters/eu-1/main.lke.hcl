cluster {
  name   = "eu-1"
  region = "eu-central"
}

module "pools" {
  source = "../../pools"
}

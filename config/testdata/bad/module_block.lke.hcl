module "team" {
  source     = "./modules/team"
  team       = "web"
  node_class = node_class.default

  metadata { # want: Unexpected "metadata" block: Blocks are not allowed here.
  }
}

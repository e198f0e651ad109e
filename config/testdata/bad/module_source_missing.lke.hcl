module "team" { # want: Missing required argument: The argument "source" is required
  team = "web"
}

module "team" {
  source = "/etc" # want: Module from elsewhere: "/etc" is not a path.
}

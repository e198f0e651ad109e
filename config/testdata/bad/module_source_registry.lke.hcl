module "team" {
  source = "example/team/linode" # want: Module from elsewhere: "example/team/linode" is not a path.
}

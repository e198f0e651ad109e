module "team" {
  source = "example/team/linode" # want: Unsupported module source: "example/team/linode" does not start with "./" or "../".
}

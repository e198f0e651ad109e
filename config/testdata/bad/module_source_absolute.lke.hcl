module "team" {
  source = "/etc" # want: Unsupported module source: "/etc" does not start with "./" or "../".
}

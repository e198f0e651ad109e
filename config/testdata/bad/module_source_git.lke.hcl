module "team" {
  source = "git::https://example.com/team.git" # want: Unsupported module source: "git::https://example.com/team.git" does not start with "./" or "../".
}

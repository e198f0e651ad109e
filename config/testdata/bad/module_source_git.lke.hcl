module "team" {
  source = "git::https://example.com/team.git" # want: Module from elsewhere: "git::https://example.com/team.git" is not a path.
}

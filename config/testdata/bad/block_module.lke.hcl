module "team" { # want: No such block: There are no module blocks here.
  source = "../team"
}

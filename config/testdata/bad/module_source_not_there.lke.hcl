module "team" { # want: Directory does not exist: There is no directory modules/tem. Correct the path
  source = "./modules/tem"
}

module "team" { # want: No configuration files: The directory "modules" has no files named
  source = "./modules"
}

module "team" { # want: Cannot read configuration: modules/tem: file does not exist.
  source = "./modules/tem"
}

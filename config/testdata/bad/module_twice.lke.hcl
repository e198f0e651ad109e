module "a" {
  source     = "./modules/two"
}

module "a" { # want: Name used twice: There is a module named "a" already, at module_twice.lke.hcl:1.
  source = "./modules/two"
}

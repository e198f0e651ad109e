module "a" {
  source     = "./modules/two"
}

module "a" { # want: Duplicate name: A module named "a" was already declared at module_twice.lke.hcl:1.
  source = "./modules/two"
}

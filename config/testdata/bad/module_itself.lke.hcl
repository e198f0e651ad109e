module "again" { # want: Modules call each other in a cycle: Each of these directories calls the next one as a module: . (module_itself.lke.hcl:1) → ..
  source = "./modules/.."
}

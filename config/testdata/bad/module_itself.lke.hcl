module "again" { # want: Modules that call each other: Each of these directories would have to be compiled as a part of the one before it: . (module_itself.lke.hcl:1) → ..
  source = "./modules/.."
}

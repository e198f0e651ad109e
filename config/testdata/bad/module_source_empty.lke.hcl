module "team" { # want: No configuration files: The directory "modules" contains no files named *.lke.hcl or *.lke.json.
  source = "./modules"
}

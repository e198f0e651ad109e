module "team" {
  source = "./modules/../../team" # want: Module outside of the repository:
}

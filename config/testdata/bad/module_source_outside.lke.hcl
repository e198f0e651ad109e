module "team" {
  source = "../team" # want: Module outside of the repository: "../team" leads out of the repository, and nothing outside of it is read.
}

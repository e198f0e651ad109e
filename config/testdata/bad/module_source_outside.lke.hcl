module "team" {
  source = "../team" # want: Module outside of the repository: "../team" is outside of the repository, and only files in the repository can be read.
}

locals {
  text = file("../secret") # want: Invalid function argument: Invalid value for "path" parameter: "../secret" leads out of the repository, and nothing outside of it is read.
}

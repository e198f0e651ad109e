locals {
  text = file("./modules/../.git/config") # want: Invalid function argument: Invalid value for "path" parameter: "./modules/../.git/config" is not part of a commit.
}

locals {
  text = file("../secret") # want: Invalid function argument: Invalid value for "path" parameter: "../secret" is outside of the repository; only files in the repository can be read.
}

locals {
  text = file("/etc/passwd") # want: Invalid function argument: Invalid value for "path" parameter: "/etc/passwd" leads out of the repository
}

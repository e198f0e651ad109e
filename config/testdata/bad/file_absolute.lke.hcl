locals {
  text = file("/etc/passwd") # want: Invalid function argument: Invalid value for "path" parameter: "/etc/passwd" is outside of the repository; only files in the repository can be read.
}

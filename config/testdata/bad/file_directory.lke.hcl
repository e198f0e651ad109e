locals {
  text = file("modules") # want: Invalid function argument: Invalid value for "path" parameter: "modules" cannot be read: not a file.
}

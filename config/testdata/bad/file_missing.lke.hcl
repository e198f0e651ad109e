locals {
  text = file("teams.yml") # want: Invalid function argument: Invalid value for "path" parameter: there is no file "teams.yml"; paths are from the directory of this file.
}

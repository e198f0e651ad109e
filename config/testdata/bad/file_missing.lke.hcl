locals {
  text = file("teams.yml") # want: Invalid function argument: Invalid value for "path" parameter: file "teams.yml" does not exist; paths are relative to the directory of this file.
}

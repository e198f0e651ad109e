locals {
  text = file(null) # want: Invalid function argument: Invalid value for "path" parameter: argument must not be null.
}

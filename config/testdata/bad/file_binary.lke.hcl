locals {
  text = file("modules/binary") # want: Invalid function argument: Invalid value for "path" parameter: "modules/binary" is not text in UTF-8.
}

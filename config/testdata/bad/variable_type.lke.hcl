variable "size" {
  type = numbr # want: Invalid type specification: The keyword "numbr" is not a valid type specification.
}

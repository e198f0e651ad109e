locals {
  a = regex("(", "x") # want: Invalid function argument: Invalid value for "pattern" parameter: invalid regexp pattern
}

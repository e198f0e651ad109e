locals {
  a = format("%999999999d", 1) # want: Error in function call: Call to function "format" failed: the result would be too large.
}

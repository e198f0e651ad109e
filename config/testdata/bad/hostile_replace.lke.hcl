locals {
  a = join("", [for i in range(1000) : "0123456789"])
  b = replace(local.a, "0", local.a) # want: Error in function call: Call to function "replace" failed: the result would be too large.
}

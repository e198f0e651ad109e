locals {
  a = range(1000)
  b = concat(local.a, local.a, local.a, local.a, local.a, local.a, local.a, local.a, local.a, local.a)
  c = concat(local.b, local.b, local.b, local.b, local.b, local.b, local.b, local.b, local.b, local.b)
  d = concat(local.c, local.c) # want: Error in function call: Call to function "concat" failed: the result would be too large.
  e = concat(local.d, local.d)
}

locals {
  a = range(1000)
  b = concat(local.a, local.a, local.a, local.a, local.a, local.a, local.a, local.a, local.a, local.a)
  c = concat(local.b, local.b, local.b, local.b, local.b, local.b, local.b, local.b, local.b, local.b)
  d = concat(local.c, local.c) # want: Too much work: The configuration up to this point exceeds the limit for evaluation.
  e = concat(local.d, local.d)
}

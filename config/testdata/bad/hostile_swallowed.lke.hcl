# An overrun is reported although try(...) swallows errors.
locals {
  a = try(length([for a in range(1024) : [for b in range(1024) : b]]), 1) # want: Too much work
}

locals {
  a = join("", [for i in range(1000) : "0123456789"])
  b = "${local.a}${local.a}${local.a}${local.a}${local.a}${local.a}${local.a}${local.a}${local.a}${local.a}"
  c = "${local.b}${local.b}${local.b}" # want: Value too large: This value has more than 250000 elements and characters.
  d = "${local.c}${local.c}"
}

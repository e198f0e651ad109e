locals {
  a = join("", [for i in range(1000) : "0123456789"])
  b = "${local.a}${local.a}${local.a}${local.a}${local.a}${local.a}${local.a}${local.a}${local.a}${local.a}"
  c = "${local.b}${local.b}${local.b}${local.b}${local.b}${local.b}${local.b}${local.b}${local.b}${local.b}"
  d = "${local.c}${local.c}${local.c}" # want: Value too large: This value has more than 500000 elements, or text with more than four times as many characters.
  e = "${local.d}${local.d}"
}

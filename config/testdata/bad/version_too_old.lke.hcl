lkeplan {
  required_version = ">= 0.4" # want: Unsupported version of lkeplan: This directory requires lkeplan >= 0.4, and this is 0.3.1.
}

# Not reported: a newer version may know it.
pool "web" {
  colour = "red"
}

pols "web" { # want: Unsupported block type: Blocks of type "pols" are not expected here. Did you mean "pool"?
}

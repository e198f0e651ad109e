pool "web" {
  weight = # want: Invalid expression: Expected the start of an expression, but found an invalid expression token.
}

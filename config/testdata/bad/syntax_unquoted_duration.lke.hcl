pool "web" {
  node_class   = node_class.default
  expire_after = 30d # want: Missing quotation marks: A number with a unit is text. Write it in quotation marks: "30d".
}

pool "web" {
  name = "web # want: Missing quotation mark: The text has no closing quotation mark on this line.
}

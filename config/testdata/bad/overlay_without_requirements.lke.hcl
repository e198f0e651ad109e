overlay "a" { # want: Missing required argument: The argument "requirements" is required
  price = "1"
}

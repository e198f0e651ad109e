check "capped" {
  assert { # want: Missing required argument: The argument "error_message" is required
    condition = length(pool) > 0
  }
}

check "a" {
  assert {
    condition     = length(pool) >= 0 ? tobool(null) : true # want: Invalid condition: A condition must be true or false. It is null; coalesce(..., true) gives it a value.
    error_message = "No."
  }
}

check "a" {
  assert {
    condition     = length(pool) >= 0 ? tobool(null) : true # want: Invalid condition: A condition must be true or false. It is null. To set a value for null, write coalesce(..., true).
    error_message = "No."
  }
}

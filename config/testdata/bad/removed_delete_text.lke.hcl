removed {
  from   = pool.web
  delete = "keep" # want: Wrong type of value: The argument delete must be true or false.
}

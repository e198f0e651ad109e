removed {
  from   = pool.web
  delete = "keep" # want: Wrong type of value: The argument delete is true or false.
}

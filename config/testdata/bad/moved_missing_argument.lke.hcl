moved { # want: Missing required argument: The argument "to" is required
  from = pool.web
}

# only
cluster { # want: Missing required argument: The argument "region" is required
  name = "a"
}

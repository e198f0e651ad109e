removed {
  from   = "web" # want: Not an address: The argument from takes the address
  delete = true
}

overlay "a" {
  requirements = {
    cpu = atleast(2, gte(4)) # want: Invalid requirement: cpu: atleast(...) is allowed only in the requirements of pools.
  }
  price = "1"
}

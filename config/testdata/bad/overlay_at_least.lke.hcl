overlay "a" {
  requirements = {
    cpu = atleast(2, gte(4)) # want: Invalid requirement: cpu: atleast(...) is for the requirements of pools.
  }
  price = "1"
}

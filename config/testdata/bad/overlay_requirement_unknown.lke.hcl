overlay "a" {
  requirements = {
    cpus = 4 # want: Unknown requirement: There is no short name "cpus". Did you mean "cpu"?
  }
  price = "1"
}

overlay "a" {
  requirements = {}
  price        = "1"
  weight       = 10001 # want: Invalid NodeOverlay: spec.weight: should be less than or equal to 10000.
}

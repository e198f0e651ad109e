overlay "a" {
  requirements = {}
  capacity     = { cpu = 4 } # want: Invalid NodeOverlay: spec.capacity: invalid resource restricted.
}

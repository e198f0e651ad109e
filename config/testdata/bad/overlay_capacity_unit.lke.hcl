overlay "a" {
  requirements = {}
  capacity     = { "example.com/fuse" = "four" } # want: Invalid amount: "four" is not an amount of example.com/fuse.
}

locals {
  pairs = setproduct(range(200), range(200), range(20)) # want: Error in function call: Call to function "setproduct" failed: the result would be too large.
}

pool "web" {
  node_class = node_class.default
  requirements = {
    cpu                 = all(notin(4), [4])            # want: Requirement that no value meets: The conditions on cpu (not 4 and 4) exclude each other, so no value meets all of them. This pool never gets nodes.
    "example.com/size"  = all(["a", "b"], ["c"])        # want: Requirement that no value meets
    "example.com/gone"  = absent()
  }
}

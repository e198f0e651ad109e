buffer "a" {
  namespace = "web"
  scalable {
    kind = "Deployment"
    name = "a"
  }
  scalable { # want: Duplicate block: Only one scalable block is allowed here.
    kind = "Deployment"
    name = "b"
  }
}

buffer "a" {
  namespace = "web"
  scalable {
    kind = "Deployment"
    name = "a"
  }
  scalable { # want: Block given twice: There can be only one such scalable block here.
    kind = "Deployment"
    name = "b"
  }
}

pool "web" {
  node_class = node_class.default

  during "a.b" { # want: Invalid name
    schedule = "0 20 * * *"
    duration = "10h"
    weight   = 1
  }
}

pool "web" {
  node_class = node_class.default

  during "night" {
    schedule = "0 20 * * *"
    duration = "10h"
    weight   = 1000 # want: Invalid NodePool: With the values of during block night, the object is invalid: spec.weight
  }
}

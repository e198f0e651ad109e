pool "web" {
  node_class = node_class.default

  during "night" {
    schedule = "0 20 31 2 *" # want: Invalid schedule: "0 20 31 2 *" names a day that does not exist
    duration = "10h"
    weight   = 10
  }
}

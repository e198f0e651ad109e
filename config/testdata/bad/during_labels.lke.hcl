pool "web" {
  node_class = node_class.default

  during "night" {
    schedule = "0 20 * * *"
    duration = "10h"
    labels   = { a = "b" } # want: Unsupported argument: An argument named "labels" is not expected here. A during block can set only arguments whose change replaces no nodes.
  }
}

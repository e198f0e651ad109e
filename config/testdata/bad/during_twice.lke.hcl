pool "web" {
  node_class = node_class.default

  during "night" {
    schedule = "0 20 * * *"
    duration = "10h"
    weight   = 1
  }

  during "night" { # want: Duplicate block: A during block named "night" is already declared here. Give each during block another name, or merge the blocks.
    schedule = "0 8 * * *"
    duration = "1h"
    weight   = 2
  }
}

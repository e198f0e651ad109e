pool "web" {
  node_class = node_class.default

  during "night" {
    schedule  = "0 20 * * *"
    duration  = "10h"
    time_zone = "Europe/Berln" # want: Unknown time zone
    limits    = { cpu = 0 }
  }
}

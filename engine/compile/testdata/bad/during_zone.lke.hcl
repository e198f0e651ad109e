pool "web" {
  node_class = node_class.default

  during "night" {
    schedule  = "0 20 * * *"
    duration  = "10h"
    time_zone = "Europe/Berln" # want: Unknown time zone: "Europe/Berln" is not a known time zone: write a name of the time zone database, such as Europe/Berlin or UTC.
    limits    = { cpu = 0 }
  }
}

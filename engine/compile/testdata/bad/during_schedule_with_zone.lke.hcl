pool "web" {
  node_class = node_class.default

  during "night" {
    schedule = "CRON_TZ=Europe/Berlin 0 20 * * *" # want: Invalid schedule: "CRON_TZ=Europe/Berlin 0 20 * * *" contains a time zone; set it with time_zone.
    duration = "10h"
    limits   = { cpu = 0 }
  }
}

pool "web" {
  node_class = node_class.default

  during "night" {
    schedule = "CRON_TZ=Europe/Berlin 0 20 * * *" # want: Invalid schedule: The schedule of a during block is in cron notation, minute first, such as "0 20 * * mon-fri": "CRON_TZ=Europe/Berlin 0 20 * * *" contains a time zone; set it with time_zone.
    duration = "10h"
    limits   = { cpu = 0 }
  }
}

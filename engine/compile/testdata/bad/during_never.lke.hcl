pool "web" {
  node_class = node_class.default

  during "night" {
    schedule = "0 20 31 2 *" # want: Invalid schedule: The schedule of a during block is in cron notation, minute first, such as "0 20 * * mon-fri": "0 20 31 2 *" names a day that does not exist
    duration = "10h"
    weight   = 10
  }
}

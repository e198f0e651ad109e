guards {
  freeze "weekend" {
    schedule = "0 16 * * *" # want: Freeze without an end: At each minute of the year a freeze is active, so no change could ever replace or delete a node. Shorten the duration, or restrict the schedule, such as "0 16 * * fri" for 64h.
    duration = "64h"
  }
}

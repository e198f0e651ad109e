guards {
  window "day" {
    schedule = "0 9 * * *"
    duration = "2h"
  }
  freeze "most" {
    schedule = "0 0 * * *" # want: Windows that never open: A freeze is active at each minute of the windows, so no change could ever replace or delete a node. Shorten the freezes, or add a window outside of them.
    duration = "23h"
  }
}

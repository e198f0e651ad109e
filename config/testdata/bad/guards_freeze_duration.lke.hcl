guards {
  freeze "weekend" {
    schedule = "0 16 * * fri"
    duration = "Never" # want: Invalid duration: A freeze lasts for a time such as "64h"
  }
}

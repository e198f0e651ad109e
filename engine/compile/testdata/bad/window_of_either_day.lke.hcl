guards {
  window "patch-day" {
    schedule = "0 22 8-14 * tue" # want: Schedule names two kinds of days: "0 22 8-14 * tue" starts on each day of the month that "8-14" names
    duration = "6h"
  }
}

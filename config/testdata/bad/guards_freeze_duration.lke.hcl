guards {
  freeze "weekend" {
    schedule = "0 16 * * fri"
    duration = "Never" # want: Invalid duration: The duration of a freeze is a time such as "64h", not "Never".
  }
}

guards {
  freeze "q4.close" { # want: Invalid name: The name of a freeze block contains no dots, not "q4.close".
    schedule = "0 0 * * *"
    duration = "24h"
  }
}

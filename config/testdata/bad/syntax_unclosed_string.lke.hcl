pool "web" {
  name = "web # want: Unterminated template string && Invalid multi-line string
} # want: Invalid multi-line string

variable "team" { # want: No value for required variable: The variable "team" has no default and is not set. Set it in a file named *.auto.lkevars.hcl, or with --var team=VALUE.
  type = string
}

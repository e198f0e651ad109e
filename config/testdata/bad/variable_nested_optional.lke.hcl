variable "teams" {
  type    = map(object({ cpu = number, classes = optional(list(string), []) }))
  default = { web = { classes = ["a"] } } # want: Wrong type for default: The default of var.teams does not have the declared type: element "web": attribute "cpu" is required.
}

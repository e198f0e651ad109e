variable "teams" {
  type = map(object({
    max_cpu   = number
    exclusive = optional(bool, true)
  }))
  default = {
    web = { max_cpu = 320, exclusve = false } # want: Unknown attribute: The type of the variable has no attribute "exclusve". Did you mean "exclusive"?
    ml  = { max_cpu = 96 }
  }
}

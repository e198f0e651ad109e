variable "teams" {
  type = list(object({ name = string, size = optional(object({ cpu = number, memory = optional(string) })) }))
  default = [
    { name = "web", size = { cpu = 4, mem = "8Gi" } }, # want: Unknown attribute: The type of the variable has no attribute "mem".
  ]
}

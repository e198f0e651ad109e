variable "teams" {
  type    = list(string)
  default = []
}

variable "replicas" {
  type    = number
  default = 3
}

variable "size" {
  type    = object({ cpu = number, tags = map(string), any = any })
  default = { cpu = 4, tags = {}, any = "4" }
}

locals {
  never = [
    var.teams == [],          # want: Comparison is always false: The types of the two values are list of string and tuple, and values of different types are never equal. To find out whether one is empty, write length(...) == 0.
    var.replicas == "3",      # want: Comparison is always false: The types of the two values are number and string, and values of different types are never equal. Convert one of them,
    (var.size.cpu) == "a${4}", # want: Comparison is always false: The types of the two values are number and string
    var.size.tags == {},      # want: Comparison is always false: The types of the two values are map of string and object
    true == "true",           # want: Comparison is always false: The types of the two values are bool and string
  ]
  always = var.teams != [] # want: Comparison is always true: The types of the two values are list of string and tuple
  fine = [
    var.replicas == 3, var.replicas == null, var.size.any == 4, var.size.cpu == local.always, [] == ["a"], {} == { a = 1 },
    var.teams == var.size.any, length(var.teams) == 0, var.size == {},
  ]
}

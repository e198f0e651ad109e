module "team" {
  for_each   = ["a"] # want: Invalid for_each: The argument for_each takes a map, or a set of strings. This value is a list
  source     = "./modules/team"
  team       = "web"
  node_class = node_class.default
}

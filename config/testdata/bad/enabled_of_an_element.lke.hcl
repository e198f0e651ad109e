pool "a" {
  for_each   = { a = { on = true } }
  enabled    = each.value.on # want: Element in an argument about all of them: The argument enabled is about the block as a whole. To leave single elements out, filter for_each: { for k, v in var.teams : k => v if v.enabled }.
  node_class = node_class.default
}

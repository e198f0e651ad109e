pool "a" {
  for_each   = { a = { on = true } }
  enabled    = each.value.on # want: Reference to an element in enabled: The argument enabled applies to the whole block. To omit single elements, filter for_each: { for k, v in var.teams : k => v if v.enabled }.
  node_class = node_class.default
}

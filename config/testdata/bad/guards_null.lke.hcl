guards {
  max_rolled_nodes  = tostring(null)  # want: Value missing: The argument max_rolled_nodes is null, and it must have a value.
  max_deleted_pools = tonumber(null)  # want: Value missing: The argument max_deleted_pools is null
}

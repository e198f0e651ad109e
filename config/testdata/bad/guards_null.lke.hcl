guards {
  max_rolled_nodes  = tostring(null)  # want: Missing value: The argument max_rolled_nodes is null, but requires a value.
  max_deleted_pools = tonumber(null)  # want: Missing value: The argument max_deleted_pools is null
}

guards {
  max_rolled_nodes  = tostring(null)  # want: Missing value: The argument max_rolled_nodes is null. Write a value, or delete the argument.
  max_deleted_pools = tonumber(null)  # want: Missing value: The argument max_deleted_pools is null
}

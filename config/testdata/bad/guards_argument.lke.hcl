guards {
  max_delete_pools = 1 # want: Unsupported argument
}

guards {
  max_deleted_pools = -1 # want: Negative number: The argument max_deleted_pools takes a number of pools, and -1 is negative. To allow none, write 0.
  max_deleted_nodes = -1 # want: Invalid number of nodes: The argument max_deleted_nodes takes a number of nodes
}

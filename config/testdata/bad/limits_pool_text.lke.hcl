limits "all" {
  pools = ["general"] # want: Not a pool: A reference to a pool is required, such as pool.general. For a pool that is not declared here:
  nodes = 4
}

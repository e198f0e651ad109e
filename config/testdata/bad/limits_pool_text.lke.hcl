limits "all" {
  pools = ["general"] # want: Invalid pool: A reference to a pool is required, such as pool.general.
  nodes = 4
}

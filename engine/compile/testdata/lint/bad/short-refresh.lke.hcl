pool "web" {
  node_class    = node_class.default
  requirements  = { cpu = between(2, 8) }
  expire_after  = "Never"
  refresh_after = "23h" # want: Nodes are replaced every day: Each node is replaced 23h after its creation, and Linode bills whole hours. To get new node images, set refresh_after to several days, such as "336h". More: lkeplan explain short-refresh.
}

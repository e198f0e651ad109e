resource "linode_lke_node_pool" "web" { # want: No such block: There are no resource blocks here. Pools and node classes have blocks of their own
}

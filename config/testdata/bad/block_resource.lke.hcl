resource "linode_lke_node_pool" "web" { # want: No such block: Blocks of type resource do not exist. Declare pools and node classes with the blocks pool
}

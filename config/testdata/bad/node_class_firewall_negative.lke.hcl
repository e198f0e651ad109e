node_class "web" {
  firewall_id = -1 # want: Invalid id: Linode numbers its objects from 1, so -1 cannot be the value of firewall_id. To have none, leave the argument out.
}

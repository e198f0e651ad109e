node_class "web" {
  firewall_id = -1 # want: Invalid id: Linode ids start at 1, so -1 is not valid for firewall_id. For no id, delete the argument.
}

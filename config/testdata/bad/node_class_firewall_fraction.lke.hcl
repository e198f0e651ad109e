node_class "web" {
  firewall_id = 1.5 # want: Whole number required: The argument firewall_id takes a whole number, not 1.5.
}

# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "default" {
  image           = "linode/debian12"
  backups_enabled = true # want: Backups are not in the price: Linode bills backups in addition to each machine's plan. Prices and cost limits in lkeplan do not include them.
}

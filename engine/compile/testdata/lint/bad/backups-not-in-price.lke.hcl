# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "default" {
  image           = "linode/debian12"
  backups_enabled = true # want: Backups are not in the price: Linode bills backups in addition to the price of each machine's plan type. Costs and cost limits in lkeplan do not include backups. More: lkeplan explain backups-not-in-price.
}

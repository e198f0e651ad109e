# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "default" {
  image           = "linode/debian12"
  backups_enabled = true # want: Backups are not in the price: Linode bills backups on top of each machine's plan. Prices here are without them, and so is what limits on cost hold to.
}

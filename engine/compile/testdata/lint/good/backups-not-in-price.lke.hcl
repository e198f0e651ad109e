# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "default" {
  image           = "linode/debian12"
  backups_enabled = false
}

node_class "web" {
  data_disk "sda" { # want: Invalid LinodeNodeClass: spec.dataDisks.sda: there is no such field.
    size = "20Gi"
  }
}

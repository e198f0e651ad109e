node_class "web" {
  data_disk "sdb" {
    size       = "20Gi"
    filesystem = "zfs" # want: Invalid LinodeNodeClass: spec.dataDisks.sdb.filesystem: "zfs" is not a supported value;
  }
}

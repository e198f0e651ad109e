node_class "web" {
  disk_encryption = "on" # want: Invalid LinodeNodeClass: spec.diskEncryption: "on" is not one of the values that are possible; supported values: "enabled", "disabled".
}

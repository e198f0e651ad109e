node_class "web" {
  disk_encryption = "on" # want: Invalid LinodeNodeClass: spec.diskEncryption: "on" is not a supported value; supported values: "enabled", "disabled".
}

node_class "web" {
  tags            = ["env:prod"]
  disk_encryption = "enabled"
}

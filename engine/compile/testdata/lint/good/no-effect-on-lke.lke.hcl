node_class "web" {
  tags               = ["env:prod"]
  kubernetes_version = "1.34"
  disk_encryption    = "enabled"
}

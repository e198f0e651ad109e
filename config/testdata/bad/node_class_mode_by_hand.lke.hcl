node_class "web" {
  metadata {
    annotations = { "lkeplan.dev/node-mode" = "instance" } # want: Reserved key: metadata.annotations sets lkeplan.dev/node-mode, which belongs to lkeplan. Delete it.
  }
}

node_class "web" {
  metadata {
    annotations = { "lkeplan.dev/node-mode" = "instance" } # want: Annotation of lkeplan's own: lkeplan sets the annotation lkeplan.dev/node-mode, by mode of the cluster block. Take it out.
  }
}

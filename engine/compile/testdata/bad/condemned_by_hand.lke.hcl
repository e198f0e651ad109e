pool "web" {
  node_class  = node_class.default
  annotations = { # want: Annotation that lkeplan sets itself: lkeplan sets the annotation lkeplan.dev/condemned on pools that are no longer declared.
    "lkeplan.dev/condemned" = "2026-11-22T08:00:00Z"
  }
}

pool "db" {
  node_class = node_class.default
  metadata {
    annotations = { # want: Annotation that lkeplan sets itself: lkeplan sets the annotation lkeplan.dev/condemned on pools that are no longer declared.
      "lkeplan.dev/condemned" = "2026-11-22T08:00:00Z 3"
    }
  }
}

pool "canary" {
  node_class = node_class.default
  metadata {
    annotations = { # want: Annotation that lkeplan sets itself: lkeplan sets the annotation lkeplan.dev/wave on pools while a revision proves itself on them.
      "lkeplan.dev/wave" = "new"
    }
  }
}

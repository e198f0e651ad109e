overlay "cheap" { # want: Feature that is off by default: A NodeOverlay needs Karpenter's feature gate NodeOverlay; without it the object is silently ignored. It is off by default; start the controller with --feature-gates=NodeOverlay=true, and then ignore this with that reason.
  requirements = { class = "standard" }
  price        = "0.1"
}

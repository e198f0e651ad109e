overlay "cheap" { # want: Feature that is off by default: A NodeOverlay needs Karpenter's feature gate NodeOverlay; without it the object is ignored
  requirements = { class = "standard" }
  price        = "0.1"
}

overlay "cheap" { # want: Feature that is off by default: A NodeOverlay needs Karpenter's feature gate NodeOverlay. Without the gate, Karpenter silently ignores the object. The gate is off by default: start the controller with --feature-gates=NodeOverlay=true, and suppress this warning with the comment "# lkeplan:ignore gated-feature REASON". More: lkeplan explain gated-feature.
  requirements = { class = "standard" }
  price        = "0.1"
}

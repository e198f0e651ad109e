# lkeplan:ignore gated-feature NodeOverlay is on
overlay "cheap" {
  requirements = { class = "standard" }
  price        = "0.1"
}

# lkeplan:ignore gated-feature NodeOverlay is on
overlay "cheap" {
  requirements = { class = "dedicated" }
  price        = "0.1"
  weight       = 1
}

pool "web" {
  node_class = node_class.default

  during "night" {
    schedule = "0 20 * * *"
    duration = "0s" # want: Invalid duration: "0s" is not a valid duration: write a time from 1s to 8784h (366 days), such as 10h.
    limits   = { cpu = 0 }
  }
}

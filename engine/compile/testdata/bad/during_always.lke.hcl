pool "web" {
  node_class = node_class.default

  during "night" {
    schedule = "0 20 * * *"
    duration = "72h" # want: During block without an end: The during block "night" is always active: with duration "72h", it has not ended when schedule "0 20 * * *" starts it again
    limits   = { cpu = 0 }
  }
}

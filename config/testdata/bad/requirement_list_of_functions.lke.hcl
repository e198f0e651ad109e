pool "web" {
  node_class = node_class.default
  requirements = {
    cpu = [gte(4), lt(32)] # want: Invalid requirement: cpu: a list can contain only plain values; combine requirements with all(...).
  }
}

cluster {
  name   = "sandbox"
  region = "us-ord"
}

pool "general" {
  node_class = node_class.nosuch
}

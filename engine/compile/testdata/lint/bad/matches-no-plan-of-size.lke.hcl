pool "mebibytes" {
  node_class = node_class.default
  requirements = {
    memory = 8 # want: No plan type meets the requirements of the pool: None of the 42 plan types that are sold in us-ord for the standard tier meets the requirement on memory (8). The plan types have values of memory from
  }
}

pool "cpus" {
  node_class = node_class.default
  requirements = {
    cpu = gte(500) # want: No plan type meets the requirements of the pool: None of the 42 plan types that are sold in us-ord for the standard tier meets the requirement on cpu (at least 500).
  }
}

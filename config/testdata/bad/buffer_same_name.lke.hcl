buffer "a" {
  namespace    = "web"
  pod_template = "a"
}

buffer "b" {
  namespace    = "web"
  name         = "a" # want: Duplicate object name: buffer.b and buffer.a (buffer_same_name.lke.hcl:1) would both be the CapacityBuffer "a".
  pod_template = "a"
}

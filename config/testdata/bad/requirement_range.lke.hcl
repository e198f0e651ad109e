pool "a" {
  node_class = node_class.default
  requirements = {
    cpu           = "8-32" # want: Invalid requirement: cpu: "8-32" is a single value; for a range, write between(8, 32).
    memory        = "8Gi-32Gi" # want: Invalid requirement: memory: "8Gi-32Gi" is a single value; for a range, write between("8Gi", "32Gi").
    gpu_count     = ["1 - 2"] # want: Invalid requirement: gpu_count: "1 - 2" is a single value; for a range, write between(1, 2).
    generation    = notin("6-7") # want: Invalid requirement: generation: "6-7" is a single value; for a range, write between(6, 7).
    "example.com" = "8-32" # want: Unknown requirement
    "example.com/shard" = "8-32"
  }
}

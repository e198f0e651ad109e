pool "labels" {
  node_class   = node_class.default
  requirements = { instance_type = "g6-standard-2" } # want: NodeClaims of the pool are refused: The API server would refuse the NodeClaims of the pool: spec.requirements: 103, and it must have at most 100 items; Karpenter makes a requirement of each label. This pool never gets nodes.
  labels       = merge({ "example.com/p" = "labels" }, { for i in range(98) : "example.com/l${i}" => "v" })
}

pool "annotations" {
  node_class  = node_class.default
  annotations = { for i in range(30) : "example.com/a${i}" => join("", [for j in range(1000) : "abcdefghij"]) } # want: NodeClaims of the pool are refused: The API server would refuse the NodeClaims of the pool: metadata.annotations: may not be more than 262144 bytes. This pool never gets nodes.
}

# Karpenter joins both requirements, and one value is left.
pool "values" {
  node_class = node_class.default
  requirements = { # want: NodeClaims of the pool are refused: The API server would refuse the NodeClaims of the pool: spec.requirements: requirements with 'minValues' must have at least that many
    instance_type      = "g6-standard-2"
    "example.com/disk" = all(atleast(2, ["a", "b"]), notin("b"))
  }
}

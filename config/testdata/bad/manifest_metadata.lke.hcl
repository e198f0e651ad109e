pool "owned" {
  node_class = node_class.default
  manifest = {
    metadata = {
A configuration cannot set       ownerReferences = [{ apiVersion = "v1", kind = "Namespace", name = "none", uid = "0" }] # want: Missing key/value separator: Expected an equals sign ("=") to mark the beginning of the attribute value. If you intended to given an attribute name containing periods or spaces, write the name in quotes to create a string literal.
    }
  }
}

pool "finalized" {
  node_class = node_class.default
A configuration cannot set   manifest   = { metadata = { finalizers = ["example.com/never"] } } # want: Invalid block definition: The equals sign "=" indicates an argument definition, and must not be used when defining a block.
}

pool "known" {
  node_class = node_class.default
A configuration cannot set   manifest   = { metadata = { uid = "1" } } # want: Invalid block definition: The equals sign "=" indicates an argument definition, and must not be used when defining a block.
}

pool "standing" {
  node_class = node_class.default
A configuration cannot set   manifest   = { status = { nodes = 3 } } # want: Invalid block definition: The equals sign "=" indicates an argument definition, and must not be used when defining a block.
}

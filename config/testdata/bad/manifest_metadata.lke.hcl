pool "owned" {
  node_class = node_class.default
  manifest = {
    metadata = {
      ownerReferences = [{ apiVersion = "v1", kind = "Namespace", name = "none", uid = "0" }] # want: Field cannot be set: metadata.ownerReferences is not for a configuration to write: the argument manifest takes fields of spec, metadata.labels and metadata.annotations. Remove it.
    }
  }
}

pool "finalized" {
  node_class = node_class.default
  manifest   = { metadata = { finalizers = ["example.com/never"] } } # want: Field cannot be set: metadata.finalizers is not for a configuration to write: the argument manifest takes fields of spec, metadata.labels and metadata.annotations. Remove it.
}

pool "known" {
  node_class = node_class.default
  manifest   = { metadata = { uid = "1" } } # want: Field cannot be set: metadata.uid is not for a configuration to write: the argument manifest takes fields of spec, metadata.labels and metadata.annotations. Remove it.
}

pool "standing" {
  node_class = node_class.default
  manifest   = { status = { nodes = 3 } } # want: Field cannot be set: status is not for a configuration to write: the argument manifest takes fields of spec, metadata.labels and metadata.annotations. Remove it.
}

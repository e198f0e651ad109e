rings { # want: Cluster in no ring: The directory configures the cluster "test", which is in none of the rings. Add it to a ring, or do not declare rings in this directory.
  ring "none" {
    clusters = [] # want: Empty ring: The ring "none" contains no cluster, so the next ring would have no cluster to wait for. Add a cluster, or delete the ring.
  }
  ring "early" {
    clusters = ["a", "b", "a"] # want: Duplicate cluster: The ring "early" names the cluster "a" twice.
    soak     = "soon"          # want: Invalid duration: The argument soak is a time such as "1h", of 30 days at most, not "soon".
  }
  ring "rest" {
    clusters = ["b"] # want: Cluster in two rings: The cluster "b" is already in the ring "early". A cluster can be in only one ring.
  }
  ring "odd" {
    clusters = ["a b"] # want: Invalid cluster name: "a b" cannot be the name of a cluster. The name of a cluster is its label in LKE: letters, digits, dashes, underscores and dots, with a letter or digit at both ends.
  }
}

rings { # want: More than one rings block: A directory and its modules can have one rings block
  ring "a" {
    clusters = ["dev"]
  }
}

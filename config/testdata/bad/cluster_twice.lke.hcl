# only
cluster {
  name   = "a"
  region = "us-ord"
}

cluster { # want: More than one cluster: A directory configures one cluster, and this directory already has a cluster block at cluster_twice.lke.hcl:2.
  name   = "b"
  region = "us-ord"
}

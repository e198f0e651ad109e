# only
cluster {
  name   = "a"
  region = "us-ord"
}

cluster { # want: More than one cluster: A directory is for one cluster, and this one names its cluster at cluster_twice.lke.hcl:2 already.
  name   = "b"
  region = "us-ord"
}

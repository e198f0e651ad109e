# only
cluster {
  name   = "CHANGE-ME" # want: Invalid cluster name: CHANGE-ME is not the name of a cluster. Write the controller's CLUSTER_NAME.
  region = "us-ord"
  mode   = "instance"
}

# only
cluster {
  name   = "CHANGE-ME" # want: Invalid cluster name: CHANGE-ME is a placeholder. Write the controller's CLUSTER_NAME.
  region = "us-ord"
  mode   = "instance"
}

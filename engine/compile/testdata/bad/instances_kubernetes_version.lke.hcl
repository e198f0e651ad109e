# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "web" {
  image              = "linode/debian12"
  kubernetes_version = "1.34" # want: Node class without machines: It has no effect in instance mode, where the image contains the kubelet
}

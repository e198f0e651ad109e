# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "web" {
  image              = "linode/debian12"
  kubernetes_version = "1.34" # want: Node class cannot create machines: The version has no effect in instance mode, because the image contains the kubelet; remove it. More: lkeplan explain class-refused.
}

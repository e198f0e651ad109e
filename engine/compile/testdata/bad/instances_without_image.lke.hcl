# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "web" {} # want: Node class cannot create machines: In instance mode, a node class needs an image; set the ID of an image with cloud-init and with kubeadm or k3s, or select an image by its label. More: lkeplan explain class-refused.

# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "web" {} # want: Node class without machines: It is required: name an image with cloud-init

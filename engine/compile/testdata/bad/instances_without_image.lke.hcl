# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "web" {} # want: Node class without machines: Say what the machine boots: an image with cloud-init

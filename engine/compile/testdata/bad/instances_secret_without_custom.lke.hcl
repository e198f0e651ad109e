# only
cluster {
  name   = "test"
  region = "us-ord"
  mode   = "instance"
}

node_class "web" {
  image = "linode/debian12"

  bootstrap { # want: Invalid LinodeNodeClass: spec.bootstrap: userDataSecret goes with kind custom, and only with it.
    kind             = "k3s"
    user_data_secret = "join"
  }
}

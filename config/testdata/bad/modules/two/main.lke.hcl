node_class "shared" {}

# only # want: No cluster: The directory declares no cluster.

node_class "default" {}

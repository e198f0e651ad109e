# only # want: No cluster: The directory does not say which cluster it is for.

node_class "default" {}

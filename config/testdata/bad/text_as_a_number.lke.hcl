# only
cluster {
  name               = 1.10 # want: Text required: The argument name takes text, and a number loses its form: 1.40 is 1.4. Write it in quotes, such as "1.40".
  region             = "us-ord"
  kubernetes_version = yamldecode("v: 1.40").v # want: Text required: The argument kubernetes_version takes text
}

node_class "default" {
  tags = ["abc", 1.10] # want: Text required: The argument tags takes a list of strings
}

# only
cluster {
  name   = "dev"
  region = "us-ord"
  tier   = "enterprise"

  kubernetes_version = "1.34" # want: Node class cannot create machines: "1.34" is not a version of LKE Enterprise, which are written like v1.34.1+lke2. More: lkeplan explain class-refused.
}

node_class "web" {}

node_class "web" {
  kubernetes_version = "v1.33.4+lke2" # want: Node class cannot create machines: "v1.33.4+lke2" is not a version of LKE, which on the standard tier are minor versions, such as 1.34. More: lkeplan explain class-refused.
}

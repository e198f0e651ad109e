node_class "web" {
  lke_k8s_version = "v1.33.4+lke2" # want: Node class that LKE refuses: Only LKE Enterprise has a version for each node pool;
}

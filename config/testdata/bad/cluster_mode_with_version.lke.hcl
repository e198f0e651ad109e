# only
cluster {
  name               = "a"
  region             = "us-ord"
  mode               = "instance"
  kubernetes_version = "1.34" # want: Not in instance mode: The argument kubernetes_version does not go with mode = "instance". The kubelet is the image's
}

# only
cluster {
  name               = "a"
  region             = "us-ord"
  mode               = "instance"
  kubernetes_version = "1.34" # want: Argument not allowed in instance mode: The argument kubernetes_version is not allowed with mode = "instance".
}

cluster {
  name   = "sandbox"
  region = "us-ord"
}

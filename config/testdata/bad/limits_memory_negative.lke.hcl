limits "all" {
  memory = "-1Gi" # want: Negative amount: memory = -1Gi is negative.
}

pool "web" {
  node_class               = node_class.default
  termination_grace_period = "1500ms" # want: Invalid duration: "1500ms" is not a duration. Write hours, minutes and seconds
}

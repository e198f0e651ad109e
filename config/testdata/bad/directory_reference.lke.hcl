lkeplan {
  directory = cluster.name # want: Literal text required: The value of directory is needed before expressions are evaluated, so it must be literal text in quotes.
}

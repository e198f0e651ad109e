lkeplan {
  directory = cluster.name # want: Text written out is required: The value of directory is needed before anything is evaluated, so it must be plain text in quotes.
}

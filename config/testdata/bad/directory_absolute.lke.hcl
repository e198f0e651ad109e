lkeplan {
  directory = "/etc/x" # want: Invalid name of a directory: A directory is called by letters, digits, dots, dashes, underscores and slashes, as a path is, and by 200 characters at most.
}

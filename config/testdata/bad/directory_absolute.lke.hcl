lkeplan {
  directory = "/etc/x" # want: Invalid directory name: The name of a directory is a path of letters, digits, dots, dashes, underscores, at signs and slashes, with at most 200 characters.
}

lkeplan {
  directory = "a"
}

lkeplan {
  directory = "b" # want: Duplicate directory name: The directory name was already set to "a". Delete one of the arguments.
}

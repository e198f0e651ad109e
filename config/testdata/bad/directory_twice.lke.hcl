lkeplan {
  directory = "a"
}

lkeplan {
  directory = "b" # want: Directory given twice: It is called "a" already. Keep one of them.
}

removed { # want: Missing required argument: A buffer is in a namespace: the argument namespace says in which this one was.
  from = buffer.gone
}

removed {
  from      = pool.gone
  namespace = "web" # want: Argument that means nothing here: A NodePool is in no namespace.
}

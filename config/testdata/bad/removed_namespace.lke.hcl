removed { # want: Missing required argument: A buffer has a namespace. Set the argument namespace.
  from = buffer.gone
}

removed {
  from      = pool.gone
  namespace = "web" # want: Argument not allowed here: A NodePool has no namespace. Delete the argument.
}

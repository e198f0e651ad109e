removed {
  from   = pool.web
  delete = true
  prune  = "slowly" # want: Unknown value: The argument prune is "slowly". It must be "graceful" or "now".
}

removed {
  from  = pool.db
  prune = "now" # want: Argument not allowed here: The argument applies only to a pool with delete = true.
}

removed {
  from   = node_class.old
  delete = true
  prune  = "now" # want: Argument not allowed here: The argument applies only to a pool with delete = true.
}

removed {
  from   = pool.web
  delete = true
  prune  = "slowly" # want: Unknown value: prune is one of graceful, now, and not "slowly".
}

removed {
  from  = pool.db
  prune = "now" # want: Argument that means nothing here: Only a pool that is deleted goes gracefully or now.
}

removed {
  from   = node_class.old
  delete = true
  prune  = "now" # want: Argument that means nothing here: Only a pool that is deleted goes gracefully or now.
}

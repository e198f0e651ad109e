removed {
  from = pool.gone
  id   = "" # want: Wrong type of value: The argument id takes the name of an object in the cluster, as text.
}

removed {
  from   = pool.web
  delete = false
}

removed {
  from   = pool.web # want: Duplicate block: The block removed for pool.web was already declared at removed_twice.lke.hcl:1.
  delete = true
}

removed {
  from   = pool.web
  delete = false
}

removed {
  from   = pool.web # want: Block given twice: The block removed for pool.web is there already, at removed_twice.lke.hcl:1.
  delete = true
}

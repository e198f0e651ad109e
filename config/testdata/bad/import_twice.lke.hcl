pool "web" {
  node_class = node_class.default
}

import {
  to = pool.web
  id = "web"
}

import {
  to = pool.web # want: Block given twice: The block import for pool.web is there already, at import_twice.lke.hcl:5.
  id = "web"
}

pool "web" {
  node_class = node_class.default
}

import {
  to = pool.web
  id = "web"
}

import {
  to = pool.web # want: Duplicate block: The block import for pool.web was already declared at import_twice.lke.hcl:5.
  id = "web"
}

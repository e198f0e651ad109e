pool "web" {
  node_class = node_class.default
}

import {
  to = pool.web
  id = local.id # want: Unknown reference: No local is named "id" in this directory.
}

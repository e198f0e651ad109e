pool "web" {
  node_class = node_class.default
}

import {
  to = pool.web
  id = ["web"] # want: Wrong type of value: The argument id takes the name of an object in the cluster, as text.
}

pool "web" {
  node_class = node_class.default
}

import {
  to = pool.web
  id = "pool-2023" # want: Another object: pool.web is the object "web". To take over "pool-2023", give the block its name: name = "pool-2023".
}

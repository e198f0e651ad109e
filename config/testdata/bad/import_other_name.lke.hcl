pool "web" {
  node_class = node_class.default
}

import {
  to = pool.web
The name of   id = "pool-2023" # want: Invalid block definition: The equals sign "=" indicates an argument definition, and must not be used when defining a block.
}

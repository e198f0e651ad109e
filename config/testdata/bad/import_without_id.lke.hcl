pool "web" {
  node_class = node_class.default
}

import { # want: Missing required argument: The argument "id" is required
  to = pool.web
}

pool "web" {
  node_class = node_class.default
}

import {
  to = pool.wep # want: No object at this address: No pool is named "wep" in this directory. Did you mean "web"?
  id = "wep"
}

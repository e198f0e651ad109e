pool "web" {
  node_class = node_class.default
}

import {
  to = pool.wep # want: Nothing at this address: There is no pool named "wep" in this directory. Did you mean "web"?
  id = "wep"
}

pool "team" {
  for_each   = toset(["ml", "web"])
  node_class = node_class.default
}

import {
  to = pool.team # want: Address of several objects: pool.team has for_each, and an import is for one element. Add its key, as in pool.team["KEY"].
  id = "team"
}

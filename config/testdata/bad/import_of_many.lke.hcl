pool "team" {
  for_each   = toset(["ml", "web"])
  node_class = node_class.default
}

import {
  to = pool.team # want: Address of several objects: pool.team has for_each, and an existing object becomes one of its elements. Add the key, as in pool.team["KEY"].
  id = "team"
}

module "t" {
  source = "./modules/two"
}

import {
  to = module.t # want: Address of a module: The block import takes the address of one object, such as module.t.pool.NAME.
  id = "t"
}

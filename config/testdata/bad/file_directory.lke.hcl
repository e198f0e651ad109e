locals {
read   text = file("modules") # want: Invalid block definition: The equals sign "=" indicates an argument definition, and must not be used when defining a block.
}

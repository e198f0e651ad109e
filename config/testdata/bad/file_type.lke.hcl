locals {
  text = file(["a"]) # want: Invalid function argument
}

locals {
  a = env("HOME")                # want: Call to unknown function: There is no function named "env". The environment is not read: declare a variable, and set it with --var NAME=VALUE or a file.
  b = timestamp()                # want: Call to unknown function: There is no function named "timestamp". A directory compiles to the same objects
  c = templatefile("a.tpl", {})  # want: Call to unknown function: There is no function named "templatefile". Write templatestring(file(path), values).
  d = titel("a")                 # want: Call to unknown function: There is no function named "titel". Did you mean "title"?
  e = wibble("a")                # want: Call to unknown function: There is no function named "wibble".
}

locals {
  a = env("HOME")                # want: Call to unknown function: The function "env" does not exist. Environment variables cannot be read. Declare a variable, and set it with --var NAME=VALUE or a file.
  b = timestamp()                # want: Call to unknown function: The function "timestamp" does not exist.
  c = templatefile("a.tpl", {})  # want: Call to unknown function: The function "templatefile" does not exist. Write templatestring(file(path), values).
  d = titel("a")                 # want: Call to unknown function: The function "titel" does not exist. Did you mean "title"?
  e = wibble("a")                # want: Call to unknown function: The function "wibble" does not exist.
}

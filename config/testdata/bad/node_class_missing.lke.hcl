pool "web" { # want: Missing required argument: The argument "node_class" is required, but no definition was found.
}

pool "2xl" { # want: Invalid name: References such as pool.2xl are not possible with the label "2xl".
  node_class = node_class.default
}

pool "web" {
  node_class    = node_class.default
  requirements  = { cpu = between(2, 8) }
  refresh_after = "720h" # want: Nodes expire before they are refreshed: Nodes are to be replaced within the budgets by the age of 720h, but they expire 720h after their creation, regardless of budgets and without replacements first (the default of expire_after is 720h). Set expire_after = "Never", or, as a last resort for nodes that nothing else could replace, to much more than refresh_after. More: lkeplan explain expires-before-refresh.
}

# lkeplan:ignore uncaped-plan-size large pods # want: Ignore comment with an unknown name: There is no rule "uncaped-plan-size". Did you mean "uncapped-plan-size"?
pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
}

# lkeplan:ignore bad-schedule it works # want: Ignore comment with an unknown name: bad-schedule reports errors, which cannot be ignored.
node_class "other" {}

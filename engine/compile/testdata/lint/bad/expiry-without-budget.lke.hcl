pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
  expire_after = "336h" # want: Budgets do not delay expiry: Nodes expire 336h after their creation, even while a budget blocks disruption. Karpenter drains them without creating replacements first. Set expire_after = "Never", or suppress this warning with the comment "# lkeplan:ignore expiry-without-budget REASON". More: lkeplan explain expiry-without-budget.

  disruption {
    consolidate_after = "10m"

    budget {
      nodes = "10%"
    }

    budget {
      nodes    = 0
      schedule = "0 8 * * mon-fri"
      duration = "10h"
    }
  }
}

pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }

  disruption {
    consolidate_after = "10m"

    budget {
      nodes = "10%"
    }

    budget { # want: Budgets do not delay expiry: Nodes expire 720h after their creation, even while a budget blocks disruption. Karpenter drains them without creating replacements first. To replace nodes by age within the budgets, set refresh_after = "720h" and expire_after = "Never". If expire_after is meant as a last resort, suppress this warning with the comment "# lkeplan:ignore expiry-without-budget REASON". More: lkeplan explain expiry-without-budget.
      nodes    = 0
      schedule = "0 8 * * mon-fri"
      duration = "10h"
    }
  }
}

limits "all" {
  monthly_cost = -1 # want: Negative amount: monthly_cost = -1 is negative. An amount must be 0 or more.
}

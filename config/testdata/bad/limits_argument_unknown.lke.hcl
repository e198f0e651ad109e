limits "all" {
  monthly_costs = 4 # want: Unsupported argument: An argument named "monthly_costs" is not expected here. Did you mean "monthly_cost"?
}

limits "all" {
  monthly_cost = -1 # want: Invalid amount of money: "-1" is not
}

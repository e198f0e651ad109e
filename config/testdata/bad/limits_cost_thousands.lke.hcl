limits "all" {
  monthly_cost = "5,000" # want: Invalid amount of money: "5,000" is not
}

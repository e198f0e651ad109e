limits "all" {
  monthly_cost = "$5000" # want: Invalid amount of money: "$5000" is not an amount of US dollars.
}

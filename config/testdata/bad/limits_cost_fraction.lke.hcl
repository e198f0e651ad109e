limits "all" {
  monthly_cost = 99.999 # want: Invalid amount of money: "99.999" is not
}

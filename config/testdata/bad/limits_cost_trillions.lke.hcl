limits "x" {
  monthly_cost = "9999999999999" # want: Invalid amount of money: "9999999999999" is not an amount of US dollars. Write a number such as 5000, or with cents "99.50", without a sign for the currency, and below a trillion.
}

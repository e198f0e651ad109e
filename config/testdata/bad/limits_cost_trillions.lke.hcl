limits "x" {
  monthly_cost = "9999999999999" # want: Invalid amount of money: "9999999999999" is not an amount of US dollars. Write a number below a trillion, such as 5000, or "99.50" with cents, without a currency sign.
}

limits "all" {
  cpu = "400 cores" # want: Invalid amount: "400 cores" is not an amount of cpu.
}

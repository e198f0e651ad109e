limits "all" { # want: Invalid CapacityLimit: The block has no limit. Set at least one of nodes, cpu, memory and monthly_cost.
}

limits "all" { # want: Invalid CapacityLimit: spec: one of nodes, cpu, memory and monthlyCost must be set.
}

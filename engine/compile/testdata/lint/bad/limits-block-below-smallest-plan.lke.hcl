pool "web" {
  node_class   = node_class.default
  requirements = { cpu = between(2, 8) }
}

limits "bytes" {
  memory = 512 # want: Limit below the smallest plan type: The smallest plan type that its pools allow, g6-standard-2, has 3.7Gi of memory, which is more than the limit of 512. None of its pools gets nodes.
}

limits "several" {
  pools        = [pool.web]
  nodes        = 0      # want: Limit below the smallest plan type: The limit is zero. None of its pools gets nodes.
  cpu          = "500m" # want: Limit below the smallest plan type
  memory       = "512m" # want: Limit below the smallest plan type
  monthly_cost = 5      # want: Limit below the smallest plan type: The cheapest plan type that its pools allow, g6-standard-2, costs $24 a month, which is more than the limit of $5. None of its pools gets nodes.
}

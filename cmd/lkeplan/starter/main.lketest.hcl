# Run these tests with "lkeplan test".

run "ten small pods fit in three nodes" {
  pods = ["10x500mcpu,1Gi"]

  assert {
    condition     = simulate.unschedulable == 0 && simulate.nodes <= 3
    error_message = "The pods get ${simulate.nodes} nodes, and ${simulate.unschedulable} pods get no node."
  }
}

run "the pools cannot cost more than the budget" {
  assert {
    condition     = cost.ceiling <= 1000
    error_message = "The pools can cost ${cost.ceiling} dollars a month."
  }
}

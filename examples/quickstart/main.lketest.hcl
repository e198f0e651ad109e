# Conditions that must be true after every change to this directory. Run them with `lkeplan test`.

run "ten workers fit in two nodes" {
  pods = ["10x1cpu,1Gi"]

  assert {
    condition     = simulate.nodes <= 2 && simulate.unschedulable == 0
    error_message = "They take ${simulate.nodes} nodes, and ${simulate.unschedulable} have none."
  }
  assert {
    condition     = simulate.cost < 300
    error_message = "They cost ${simulate.cost} dollars a month."
  }
}

run "a mistake stays affordable" {
  assert {
    condition     = cost.ceiling <= 24000
    error_message = "The limits allow ${cost.ceiling} dollars a month."
  }
}

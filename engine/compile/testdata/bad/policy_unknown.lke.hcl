pool "web" {
  node_class = node_class.default

  disruption {
    policy            = "WhenEmtpy" # want: Invalid NodePool: spec.disruption.consolidationPolicy: "WhenEmtpy" is not a supported value; supported values: "WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced". Did you mean "WhenEmpty"?
    consolidate_after = "5m"
  }
}

# Karpenter chooses the size of the nodes of this pool. The guide
# simulates which nodes the pods would get with a smaller maximum size.

cluster {
  name   = "shop"
  region = "us-ord"
}

node_class "default" {}

pool "web" {
  node_class   = node_class.default
  requirements = { class = ["standard", "dedicated"], cpu = between(2, 16) }
  limits       = { cpu = 120 }

  disruption {
    consolidate_after = "1h"
    budget {
      nodes = 2
    }
  }
}

policy "bill" {
  condition     = plan.simulate == null || plan.simulate.cost.delta <= 200
  error_message = "The pods would cost ${plan.simulate.cost.delta} dollars a month more."
}

# The pools of the end-to-end scenarios of linode/karpenter-provider-linode: what each allows,
# and how soon it consolidates.
cluster {
  name   = "dev"
  region = "us-ord"
}

node_class "default" {}

locals {
  taint = "example.com/scenarios:NoSchedule"
  pools = {
    grows         = { after = "1m" }
    empty         = { after = "0s", memory = lt("8193Mi") }
    steps         = { after = "0s", memory = lt("8193Mi") }
    drifts        = { after = "1m" }
    selected      = { after = "1m" }
    not-tolerated = { after = "1m", taint = "example.com/dedicated=tainted:NoSchedule" }
  }
}

pool "scenario" {
  for_each     = local.pools
  name         = each.key
  node_class   = node_class.default
  requirements = { memory = lookup(each.value, "memory", null) }
  labels       = { "example.com/scenario" = each.key }
  taints       = compact([local.taint, lookup(each.value, "taint", null)])
  limits       = { cpu = 1000 }

  disruption {
    consolidate_after = each.value.after
  }
}

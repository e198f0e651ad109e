# only
cluster {
  name   = "prod"
  region = "us-ord"
  tier   = "enterprise"
}

node_class "default" {
  disk_encryption = "enabled"
}

pool "gpu" {
  node_class   = node_class.default
  requirements = { class = "gpu" } # want: No plan type meets the requirements of the pool: None of the 35 plan types that are sold in us-ord for the enterprise tier meets the requirement on class (gpu). The plan types have the following values of class: dedicated, highmem, premium, standard. If Linode sells GPU plans to your account there, set gpu_plans = true in the cluster block. This pool never gets nodes. More: lkeplan explain matches-no-plan.
  limits       = { cpu = 40 }
}

pool "named" {
  node_class   = node_class.default
  requirements = { instance_type = "g2-gpu-rtx4000a1-xl" } # want: No plan type meets the requirements of the pool: None of the 35 plan types that are sold in us-ord for the enterprise tier meets the requirement on instance_type (g2-gpu-rtx4000a1-xl). This pool never gets nodes. More: lkeplan explain matches-no-plan.
  limits       = { cpu = 40 }
}

cluster {
  name   = "sandbox"
  region = "us-ord"
  mode   = "instance"
}

# All that a class can say in instance mode, by label where that is possible.
node_class "all" {
  image_label           = "golden"
  firewall_label        = "nodes"
  vpc_label             = "main"
  subnet_label          = "workers"
  placement_group_label = "spread"
  tags                  = ["team=web"]
  authorized_keys       = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGzDqO0c ada@laptop"]
  authorized_users      = ["ada"]
  backups_enabled       = true # lkeplan:ignore backups-not-in-price it is looked for at the Linode
  swap_size             = 256
  disk_encryption       = "disabled"
  kernel                = "linode/grub2"

  os_disk {
    size = "20Gi"
  }

  ipv6 {
    slaac = true
  }

  placement_group {
    compliant_only = true
  }

  bootstrap {
    kind = "k3s"
  }

  kubelet {
    max_pods        = 40
    kube_reserved   = { cpu = "200m" }
    system_reserved = { cpu = "100m" }
  }
}

pool "all" {
  node_class   = node_class.all
  requirements = { class = "standard", cpu = 2 }
  labels       = { "example.com/team" = "web" }
  taints       = ["example.com/own=yes:NoSchedule"]
}

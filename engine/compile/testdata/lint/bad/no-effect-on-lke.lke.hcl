node_class "web" {
  tags   = ["env:prod"]
  image  = "linode/ubuntu24.04" # want: Argument without effect on LKE: LKE has no setting for image, so it has no effect on nodes, and a change of it replaces no node. It exists only so that manifests of another provider can be applied unchanged. Remove it. More: lkeplan explain no-effect-on-lke.
  vpc_id = 7                    # want: Argument without effect on LKE: LKE has no setting for vpc_id, so it has no effect on nodes, and a change of it replaces no node. It exists only so that manifests of another provider can be applied unchanged. Remove it. More: lkeplan explain no-effect-on-lke.

  kubelet { # want: Argument without effect on LKE: LKE has no setting for kubelet, so it has no effect on nodes, and a change of it replaces no node. It exists only so that manifests of another provider can be applied unchanged. Remove it. More: lkeplan explain no-effect-on-lke.
    max_pods = 50
  }
}

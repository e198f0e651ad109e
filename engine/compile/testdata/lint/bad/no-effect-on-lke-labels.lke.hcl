node_class "web" {
  image_label = "golden" # want: Argument without effect on LKE: LKE has no setting for image_label, so it has no effect on nodes, and a change of it replaces no node. It exists only so that manifests of another provider can be applied unchanged. Remove it. More: lkeplan explain no-effect-on-lke.
  kernel      = "linode/latest-64bit" # want: Argument without effect on LKE: LKE has no setting for kernel, so it has no effect on nodes, and a change of it replaces no node. It exists only so that manifests of another provider can be applied unchanged. Remove it. More: lkeplan explain no-effect-on-lke.

  placement_group { # want: Argument without effect on LKE: LKE has no setting for placement_group, so it has no effect on nodes, and a change of it replaces no node. It exists only so that manifests of another provider can be applied unchanged. Remove it. More: lkeplan explain no-effect-on-lke.
    id = 3
  }
}

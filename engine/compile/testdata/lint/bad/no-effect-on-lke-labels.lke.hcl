node_class "web" {
  image_label = "golden" # want: Argument without effect on LKE: LKE creates its machines itself and has no setting for image_label. The argument exists for compatibility: it reaches no machine, and a change of it replaces no node. Remove it.
  kernel      = "linode/latest-64bit" # want: Argument without effect on LKE: LKE creates its machines itself and has no setting for kernel. The argument exists for compatibility: it reaches no machine, and a change of it replaces no node. Remove it.

  placement_group { # want: Argument without effect on LKE: LKE creates its machines itself and has no setting for placement_group. The argument exists for compatibility: it reaches no machine, and a change of it replaces no node. Remove it.
    id = 3
  }
}

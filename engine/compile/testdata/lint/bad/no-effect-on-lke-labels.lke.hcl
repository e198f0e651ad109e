node_class "web" {
  image_label = "golden" # want: Argument without effect on LKE: LKE makes its machines itself and has no setting for image_label:
  kernel      = "linode/latest-64bit" # want: Argument without effect on LKE: LKE makes its machines itself and has no setting for kernel:

  placement_group { # want: Argument without effect on LKE: LKE makes its machines itself and has no setting for placement_group:
    id = 3
  }
}

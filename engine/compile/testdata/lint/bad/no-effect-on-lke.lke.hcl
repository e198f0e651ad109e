node_class "web" {
  tags   = ["env:prod"]
  image  = "linode/ubuntu24.04" # want: Argument without effect on LKE: LKE makes its machines itself and has no setting for image: it is kept for compatibility, reaches no machine, and a change of it replaces no node.
  vpc_id = 7                    # want: Argument without effect on LKE: LKE makes its machines itself and has no setting for vpc_id:

  kubelet { # want: Argument without effect on LKE: LKE makes its machines itself and has no setting for kubelet:
    max_pods = 50
  }
}

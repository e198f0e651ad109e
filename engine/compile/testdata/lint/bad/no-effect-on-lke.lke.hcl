node_class "web" {
  tags   = ["env:prod"]
  image  = "linode/ubuntu24.04" # want: Argument without effect on LKE: LKE creates its machines itself and has no setting for image. The argument exists for compatibility: it reaches no machine, and a change of it replaces no node. Remove it.
  vpc_id = 7                    # want: Argument without effect on LKE: LKE creates its machines itself and has no setting for vpc_id. The argument exists for compatibility: it reaches no machine, and a change of it replaces no node. Remove it.

  kubelet { # want: Argument without effect on LKE: LKE creates its machines itself and has no setting for kubelet. The argument exists for compatibility: it reaches no machine, and a change of it replaces no node. Remove it.
    max_pods = 50
  }
}

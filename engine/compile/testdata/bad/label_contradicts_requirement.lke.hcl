pool "web" {
  node_class = node_class.default
  requirements = {
    "example.com/in"      = ["gold", "silver"]
    "example.com/one"     = "gold"
    "example.com/notin"   = notin("bronze")
    "example.com/absent"  = absent()
    "example.com/more"    = gt(4)
    "example.com/less"    = lt(4)
    "example.com/between" = between(4, 8)
    "example.com/text"    = gte(4)
    "example.com/least"   = atleast(2, ["a", "b"])
    "example.com/exists"  = exists()
    "example.com/fits"    = ["gold", "silver"]
    "example.com/other"   = notin("gold")
    "example.com/enough"  = gt(4)
  }
  labels = {
    "example.com/in"      = "bronze" # want: Label contradicts requirement: The pool sets the label example.com/in = "bronze" on its nodes, and its requirement on this label (In gold, silver) does not allow the value: Karpenter would replace each node as soon as it exists, again and again. Change the label or the requirement, or remove the label. More: lkeplan explain label-contradicts-requirement.
    "example.com/one"     = "GOLD"   # want: Label contradicts requirement
    "example.com/notin"   = "bronze" # want: Label contradicts requirement
    "example.com/absent"  = "a"      # want: Label contradicts requirement
    "example.com/more"    = "4"      # want: Label contradicts requirement
    "example.com/less"    = "4"      # want: Label contradicts requirement
    "example.com/between" = "9"      # want: Label contradicts requirement
    "example.com/text"    = "many"   # want: Label contradicts requirement
    "example.com/least"   = "c"      # want: Label contradicts requirement
    "example.com/exists"  = "a"
    "example.com/fits"    = "silver"
    "example.com/other"   = "bronze"
    "example.com/enough"  = "5"
  }
}

guards {
  protected = [pool.nosuch] # want: Unknown reference: There is no pool named "nosuch"
}

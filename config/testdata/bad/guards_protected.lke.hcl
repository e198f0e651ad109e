guards {
  protected = [pool.nosuch] # want: Unknown reference: No pool is named "nosuch" in this directory.
}

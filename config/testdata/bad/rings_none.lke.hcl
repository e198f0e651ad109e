rings {} # want: No rings: The rings block contains no ring. Add ring "dev" { clusters = ["dev"] }, or delete the block.

guards {}

guards {} # want: Duplicate guards block: A guards block was already declared at guards_twice.lke.hcl:1.

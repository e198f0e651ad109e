package schemas

// Moved keeps the name of an object when its address changes: objects in
// Kubernetes cannot be renamed, so a new name is a new object.
var Moved = Block{
	Type: "moved",
	Doc: "Keeps an object's name in the cluster when its block gets another label, or becomes part of a module or " +
		"of a for_each. The block has to stay: without it the object gets its new name, and a pool's nodes are replaced. To do " +
		"without it, give the block the old name: name = \"web\".",
	Args: []Arg{
		{Name: "from", Kind: Address, Required: true,
			Doc: "The address the object had before. It must not be declared any more."},
		{Name: "to", Kind: Address, Required: true, Doc: "The address it has now."},
	},
}

// Import is permission to take over an object that somebody else has made.
var Import = Block{
	Type: "import",
	Doc: "Lets a block take over an object that exists in the cluster already and was made by somebody else: " +
		"lkeplan import writes such blocks, and lkeplan takeover acts on them.",
	Args: []Arg{
		{Name: "to", Kind: Address, Required: true, Doc: "The address of the block's object."},
		{Name: "id", Kind: String, Required: true,
			Doc: "The object's name in the cluster, which the block gives as well."},
	},
}

// Removed says what becomes of an object whose block is gone.
var Removed = Block{
	Type: "removed",
	Doc:  "Says what becomes of an object whose block is no longer there.",
	Args: []Arg{
		{Name: "from", Kind: Address, Required: true, Doc: "The address the object had."},
		{Name: "id", Kind: String, Default: "the name that follows from the address",
			Doc: "The object's name in the cluster, where the block had the argument name."},
		{Name: "namespace", Kind: String, Default: "none",
			Doc: "The namespace that a buffer was in; of a buffer it is required, and other objects are in none."},
		{Name: "delete", Kind: Bool, Default: "false",
			Doc: "Whether the object is deleted. Otherwise it stays as it is and is no longer managed."},
		{Name: "prune", Kind: String, OneOf: Paces(), Default: "that of guards",
			Doc: `How a pool is deleted: "graceful" or "now", as in guards.`},
	},
}

package schemas

// Moved keeps the name of an object when its address changes. Kubernetes cannot rename objects, so
// another name is another object.
var Moved = Block{
	Type: "moved",
	Doc: "Keeps the name of an object in the cluster if its block gets another label, or moves into a module or a " +
		"for_each. Keep the moved block: without it, the object gets a new name, and the pool's nodes are " +
		"replaced. To delete the moved block, give the block the previous name: `name = \"web\"`.",
	Args: []Arg{
		{Name: "from", Kind: Address, Required: true,
			Doc: "The previous address of the object. It must no longer be declared."},
		{Name: "to", Kind: Address, Required: true, Doc: "The current address of the object."},
	},
}

// Import permits a block to take over an object that lkeplan did not create.
var Import = Block{
	Type: "import",
	Doc: "Lets a block take over an existing object of the cluster that lkeplan did not create. `lkeplan import` " +
		"writes import blocks, and `lkeplan apply` takes the objects over.",
	Args: []Arg{
		{Name: "to", Kind: Address, Required: true, Doc: "The address of the block."},
		{Name: "id", Kind: String, Required: true,
			Doc: "The name of the object in the cluster. It must be the name that the block sets."},
	},
}

// Removed configures what happens to an object whose block was deleted.
var Removed = Block{
	Type: "removed",
	Doc:  "Configures what happens to an object whose block was deleted.",
	Args: []Arg{
		{Name: "from", Kind: Address, Required: true, Doc: "The previous address of the object."},
		{Name: "id", Kind: String, Default: "derived from the address",
			Doc: "The name of the object in the cluster, if its block set name."},
		{Name: "namespace", Kind: String, Default: "none",
			Doc: "The namespace of a buffer. Required for buffers, and an error for other objects."},
		{Name: "delete", Kind: Bool, Default: "false",
			Doc: "Whether the object is deleted. If not, it stays in the cluster unchanged and is no longer managed."},
		{Name: "prune", Kind: String, OneOf: Paces(), Default: "prune of guards",
			Doc: `How a pool is deleted: "graceful" or "now", as in guards.`},
	},
}

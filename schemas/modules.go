package schemas

// Module compiles another directory of the repository as a part of this one.
// Its further arguments are the variables which that directory declares, so
// the table does not list them.
var Module = Block{
	Type:   "module",
	Labels: []string{"name"},
	Doc: "Another directory of the repository, compiled as a part of this one. All arguments but the ones " +
		"listed are values for its variables.",
	Open: true,
	Args: []Arg{
		{Name: "source", Kind: String, Required: true,
			Doc: `The directory, as a path from this one: "../modules/team".`},
		forEach, enabled,
	},
}

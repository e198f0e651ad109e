package schemas

// Module compiles another directory of the repository as part of this one. Its additional arguments
// are the variables of that directory, so the table does not list them.
var Module = Block{
	Type:   "module",
	Labels: []string{"name"},
	Doc: "Includes another directory of the repository. All arguments other than those listed are values for its " +
		"variables.",
	Open: true,
	Args: []Arg{
		{Name: "source", Kind: String, Required: true,
			Doc: `The path of the directory, relative to this one: "../modules/team".`},
		forEach, enabled,
	},
}

package function

// Absent says what to use instead of functions that people know from Terraform and
// that are not here, by name.
func Absent() map[string]string {
	const (
		variable = "The environment is not read: declare a variable, and set it with --var NAME=VALUE or a file."
		paths    = "Paths are from the directory of the file that they are in, as in file(\"teams.yaml\")."
		pure     = "A directory compiles to the same objects whenever it is compiled: pass the value in as a variable."
		plain    = "Encoded text has no use here: write it as it is."
		secret   = "No secret belongs into a configuration."
	)
	return map[string]string{
		"env":                    variable,
		"getenv":                 variable,
		"templatefile":           "Write templatestring(file(path), values).",
		"yamlencode":             "Objects are written as HCL, or field by field with the argument manifest.",
		"timestamp":              pure,
		"plantimestamp":          pure,
		"formatdate":             pure,
		"timeadd":                pure,
		"uuid":                   pure,
		"abspath":                paths,
		"pathexpand":             paths,
		"base64encode":           plain,
		"base64decode":           plain,
		"filebase64":             plain,
		"sensitive":              secret,
		"nonsensitive":           secret,
		"matchkeys":              "Write a for expression with a condition: [for x in list : x if contains(wanted, x)].",
		"setsymmetricdifference": "Write setunion(setsubtract(a, b), setsubtract(b, a)).",
		"defaults":               "Write optional(type, default) in the type of the variable.",
		"list":                   "Write [a, b].",
		"map":                    "Write { key = value }.",
		"type":                   "It is there in lkeplan console only.",
	}
}

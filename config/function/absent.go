package function

// Absent returns advice for functions that users know from Terraform and that do not exist here, by
// name.
func Absent() map[string]string {
	const (
		variable = "Environment variables cannot be read. Declare a variable, and set it with --var NAME=VALUE " +
			"or a file."
		paths  = `Paths are relative to the directory of the file, as in file("teams.yaml").`
		pure   = "A directory always compiles to the same objects. Declare a variable for the value."
		plain  = "Encoded text is not needed. Write the text itself."
		secret = "A configuration must not contain secrets."
	)
	return map[string]string{
		"env":                    variable,
		"getenv":                 variable,
		"templatefile":           "Write templatestring(file(path), values).",
		"yamlencode":             "Write objects in HCL, or set their fields with the argument manifest.",
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
		"type":                   "It exists only in lkeplan console.",
	}
}

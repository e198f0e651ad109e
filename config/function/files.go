package function

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// Files reads the files of a repository that a configuration can read. Paths are relative to the
// directory of the expression.
type Files interface {
	// Text returns the content of a file.
	Text(path string) (string, error)
	// Exists reports whether a file exists.
	Exists(path string) (bool, error)
	// Match returns the files below a directory that match a pattern such as teams/*.yaml, by their
	// sorted paths relative to it.
	Match(dir, pattern string) ([]string, error)
}

// fileFunc returns a function of the language whose arguments are paths, with these names. Without files, each call is an
// error.
func fileFunc(files Files, result cty.Type, read func(args []string) (cty.Value, error),
	names ...string) function.Function {
	var params []function.Parameter
	for _, name := range names {
		params = append(params, function.Parameter{Name: name, Type: cty.String})
	}
	return returning(result, func(args []cty.Value) (cty.Value, error) {
		if files == nil {
			return cty.NilVal, function.NewArgErrorf(0, "files are not available here")
		}
		var texts []string
		for _, arg := range args {
			texts = append(texts, arg.AsString())
		}
		v, err := read(texts)
		if err != nil {
			return cty.NilVal, function.NewArgError(0, err)
		}
		return v, nil
	}, params...)
}

func fileFunctions(files Files) []row {
	text := func(args []string) (cty.Value, error) {
		text, err := files.Text(args[0])
		return cty.StringVal(text), err
	}
	exists := func(args []string) (cty.Value, error) {
		there, err := files.Exists(args[0])
		return cty.BoolVal(there), err
	}
	match := func(args []string) (cty.Value, error) {
		found, err := files.Match(args[0], args[1])
		if err != nil || len(found) == 0 {
			return cty.SetValEmpty(cty.String), err
		}
		var elements []cty.Value
		for _, name := range found {
			elements = append(elements, cty.StringVal(name))
		}
		return cty.SetVal(elements), nil
	}
	return []row{
		{"file(path)", fileFunc(files, cty.String, text, "path"), `try(file("notes.txt"), "no notes")`,
			"Returns the content of a file in the repository. The path is relative to this directory. Files " +
				"outside of the repository cannot be read."},
		{"fileexists(path)", fileFunc(files, cty.Bool, exists, "path"),
			`try(fileexists("notes.txt"), false)`,
			"Returns whether a file exists in the repository. The file must have an extension that a " +
				"configuration can read."},
		{"fileset(path, pattern)", fileFunc(files, cty.Set(cty.String), match, "path", "pattern"),
			`try(fileset("teams", "*.yaml"), [])`,
			"Returns the set of files below a directory whose paths match a pattern. Paths are relative to that " +
				"directory. In a pattern, * matches any text without a slash, ** any directories, ? a character, " +
				"[a-z] a character of a range, and {a,b} alternatives. Only files that a configuration can read " +
				"are found: .hcl, .json, .yaml, .yml, .txt, .tpl, .tftpl, .csv and .toml. A matching link, or a " +
				"file of more than 256 KiB, is an error."},
	}
}

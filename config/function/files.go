package function

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// Files is what functions read: the files of a repository that a configuration
// can read, by their paths from the directory of the expression.
type Files interface {
	// Text returns what a file has.
	Text(path string) (string, error)
	// Exists reports whether there is such a file.
	Exists(path string) (bool, error)
	// Match returns the files below a directory, by their sorted paths from there,
	// that a pattern such as teams/*.yaml fits.
	Match(dir, pattern string) ([]string, error)
}

// fileFunc is a function of paths, by what they are called. Without files, no
// file is there.
func fileFunc(files Files, result cty.Type, read func(args []string) (cty.Value, error),
	names ...string) function.Function {
	var params []function.Parameter
	for _, name := range names {
		params = append(params, function.Parameter{Name: name, Type: cty.String})
	}
	return returning(result, func(args []cty.Value) (cty.Value, error) {
		if files == nil {
			return cty.NilVal, function.NewArgErrorf(0, "there are no files here")
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

// aRead is the work of a system call or a few, and aWalk that of looking for files.
const (
	aRead = 20_000
	aWalk = 200_000
)

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
		{"file(path)", fileFunc(files, cty.String, text, "path"), fixed(aRead), `try(file("notes.txt"), "no notes")`,
			"The text of a file in the repository, by its path from this directory. Nothing outside of the " +
				"repository is read."},
		{"fileexists(path)", fileFunc(files, cty.Bool, exists, "path"), fixed(aRead),
			`try(fileexists("notes.txt"), false)`,
			"Whether there is such a file in the repository, of a kind that a configuration can read."},
		{"fileset(path, pattern)", fileFunc(files, cty.Set(cty.String), match, "path", "pattern"), fixed(aWalk),
			`try(fileset("teams", "*.yaml"), [])`,
			"The files below a directory that a pattern fits, as a set of paths from there. In a pattern, * is any " +
				"text without a slash, ** any directories, ? a character, [a-z] one of several, {a,b} one of " +
				"several texts. Only files that a configuration can read are found: .hcl, .json, .yaml, .yml, .txt, " +
				".tpl, .tftpl, .csv and .toml. A link or a file of more than 256 KiB among them is an error."},
	}
}

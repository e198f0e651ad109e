package config

import (
	"fmt"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/config/function"
	"github.com/lkeplan/lkeplan/config/load"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
)

// All returns them from the outermost to the innermost.
func All() []schemas.Bound {
	count := func(what string, most int, instead string) schemas.Bound {
		return schemas.Bound{What: what, Most: fmt.Sprint(most), Instead: instead}
	}
	return []schemas.Bound{
		{What: "size of a file", Most: fmt.Sprintf("%d KiB", syntax.MaxFileSize>>10), Instead: "several files"},
		count("brackets and operators in a file", syntax.MaxSigns, "several files"),
		count("files of a directory", load.MaxFiles, "a directory for each cluster"),
		{What: "files in sum, modules included", Most: fmt.Sprintf("%d MiB", load.MaxBytes>>20),
			Instead: "a directory for each cluster"},
		count("directories that are called as modules", load.MaxDirectories, "fewer modules, with variables"),
		count("calls of modules", MaxModules, "`for_each` in the blocks of a module"),
		count("names in all calls of modules", MaxNames, "fewer locals in modules that are called often"),
		count("objects", MaxObjects, "a directory for each cluster"),
		count("`moved` blocks", MaxMoves, "the old name in the block, `name = \"web\"`, and no `moved` block"),
		count("`import` and `removed` blocks, each", MaxMoves, "delete those that were applied"),
		count("brackets, templates and conditionals within each other", syntax.MaxNesting, "locals"),
		count("operators in a row", syntax.MaxChain, "locals"),
		count("`for` expressions within each other", syntax.MaxLoops, "locals"),
		count("elements of a list or an object that are written out", syntax.MaxElements, "`for`, or a file"),
		count("names that refer to one another in a chain", eval.MaxChain, "shorter chains"),
		count("elements of a value, nested ones included", eval.MaxSize, "smaller values"),
		count("rounds of `for` and of `dynamic` in one expression, about", eval.Rounds, "fewer elements"),
		{What: "a regular expression",
			Most:    fmt.Sprintf("%d bytes, %d groups", function.MaxPattern, function.MaxGroups),
			Instead: "`split`, or several expressions"},
		count("errors, and warnings, that are reported", diag.MaxKept, "mend the first ones"),
	}
}

package config

import (
	"fmt"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/config/load"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
)

// All returns the limits, from the outermost to the innermost.
func All() []schemas.Bound {
	count := func(what string, most int, instead string) schemas.Bound {
		return schemas.Bound{What: what, Most: fmt.Sprint(most), Instead: instead}
	}
	return []schemas.Bound{
		{What: "size of a file", Most: fmt.Sprintf("%d KiB", syntax.MaxFileSize>>10), Instead: "several files"},
		count("files in a directory", load.MaxFiles, "one directory per cluster"),
		{What: "total size of files, including modules", Most: fmt.Sprintf("%d MiB", load.MaxBytes>>20),
			Instead: "one directory per cluster"},
		count("directories used as modules", load.MaxDirectories, "fewer modules, with variables"),
		count("module calls", MaxModules, "`for_each` in the blocks of the module"),
		count("names in all module calls", MaxNames, "fewer locals in modules with many calls"),
		count("objects", MaxObjects, "one directory per cluster"),
		count("`moved` blocks", MaxMoves, "the previous name in the block, `name = \"web\"`, without a `moved` block"),
		count("`import` and `removed` blocks, each", MaxMoves, "delete applied blocks"),
		count("nesting of brackets, templates and conditionals", syntax.MaxNesting, "locals"),
		count("consecutive operators", syntax.MaxChain, "locals"),
		count("length of a chain of references", eval.MaxChain, "shorter chains"),
		count("reported errors, and reported warnings", diag.MaxKept, "fix the first ones"),
	}
}

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/config/function"
)

const about = `Type an expression, and its value is printed as HCL:

  pool.general.limits      what a block in this directory says
  var.team  local.base     a variable or a local
  [for t in var.teams : t]
  type(var.teams)          the type of a value

An expression with open brackets goes on in the next line; an empty line ends it.
The files are read again for each expression. The arrow keys bring back what was
typed before.

  help        this text, and all functions
  help NAME   what a function does
  exit        the end, as is Ctrl-D
`

// help explains the console, or a function.
func help(w io.Writer, name string) error {
	functions, err := function.Reference()
	if err != nil {
		return err
	}
	var names []string
	for _, f := range functions {
		if f.Name == name {
			_, err := fmt.Fprintf(w, "%s\n\n%s\n\n  %s\n  %s\n", f.Signature, strings.Join(diag.Wrap(f.Doc, 80), "\n"),
				f.Example, strings.ReplaceAll(f.Result, "\n", "\n  "))
			return err
		}
		names = append(names, f.Name)
	}
	if name != "" {
		_, err := fmt.Fprintf(w, "There is no function %q.%s\n", name, eval.DidYouMean(name, names))
		return err
	}
	all := diag.Wrap("Functions: "+strings.Join(names, ", ")+".", 80)
	_, err = fmt.Fprintf(w, "%s\n%s\n", about, strings.Join(all, "\n"))
	return err
}

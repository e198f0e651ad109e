package flags

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compile"
)

// Env is all that commands know of the process they run in.
type Env struct {
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Getenv  func(string) string
	Environ func() []string
	Color   bool // whether Stderr is a terminal that shows colors
}

// An Outcome is an exit code that is no error: what a command found.
type Outcome int

// The outcomes. An error of any kind exits with 1 instead.
const (
	Fine    Outcome = 0
	Changes Outcome = 2 // there are some, and the command was asked to say so; for import, where there must be none
	Refused Outcome = 3 // by a guard or a policy
	Stale   Outcome = 4 // the cluster has changed since a plan was saved
)

// Error implements error.
func (o Outcome) Error() string { return fmt.Sprintf("exit code %d", int(o)) }

// AsError is nil where all is fine.
func (o Outcome) AsError() error {
	if o == Fine {
		return nil
	}
	return o
}

// ErrReported is returned by commands that have said themselves what is wrong.
var ErrReported = errors.New("reported")

// Report prints diagnostics and returns an error if there are errors among
// them.
func Report(env *Env, compiled compile.Result, diags hcl.Diagnostics) error {
	if err := diag.Text(env.Stderr, diag.New(diags, compiled.Files), env.Color); err != nil {
		return err
	}
	if !diags.HasErrors() {
		return nil
	}
	fmt.Fprintln(env.Stderr, diag.Count(diags))
	return ErrReported
}

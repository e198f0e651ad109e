package flags

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// renamed is the old spelling of a flag.
type renamed struct {
	cmd  *cobra.Command
	old  string
	now  string
	into func(text string) (value string, err error)
}

// Renamed adds a hidden flag that sets another one, with a line on standard error that names it. Into returns the value
// of the other flag; "" sets nothing. A switch is a flag without a value.
func Renamed(cmd *cobra.Command, old, now string, isSwitch bool, into func(text string) (value string, err error)) {
	flag := cmd.Flags().VarPF(renamed{cmd: cmd, old: old, now: now, into: into}, old, "", "old spelling of --"+now)
	if flag.Hidden = true; isSwitch {
		flag.NoOptDefVal = "true"
	}
}

// Same is a value that an old and a new flag write in the same way.
func Same(text string) (string, error) { return text, nil }

// Deprecate prints that an old spelling is replaced by a new one.
func Deprecate(cmd *cobra.Command, old, now string) {
	Say(cmd.ErrOrStderr(), "lkeplan: %s is deprecated; write %s", old, now)
}

// String implements pflag.Value.
func (renamed) String() string { return "" }

// Type implements pflag.Value.
func (renamed) Type() string { return "string" }

// Set implements pflag.Value.
func (r renamed) Set(text string) error {
	value, err := r.into(text)
	if err != nil || value == "" {
		return err
	}
	Deprecate(r.cmd, "--"+r.old, "--"+r.now+" "+value)
	err = r.cmd.Flags().Set(r.now, value)
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return invalid.Unwrap() // the error names the flag as it was written
	}
	return err
}

package flags

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Effects say of flags of a command when they have an effect. Others always have one.
type Effects map[string]Effect

// Effect is when a flag has one, by the other flags and the arguments.
type Effect struct {
	When func(args []string) bool // nil: always
	Else string                   // what it is for instead, after the name of the flag

	also *Effect // what has to hold besides, looked at first
}

// Unless is an effect that a flag has only where something does not hold, either.
func (e Effect) Unless(holds func(args []string) bool, instead string) Effect {
	e.also = &Effect{When: func(args []string) bool { return !holds(args) }, Else: instead}
	return e
}

// wrong says why the flag has no effect; "" where it has one.
func (e Effect) wrong(args []string) string {
	if e.also != nil {
		if why := e.also.wrong(args); why != "" {
			return why
		}
	}
	if e.When != nil && !e.When(args) {
		return e.Else
	}
	return ""
}

// And are these effects and others.
func (e Effects) And(others ...Effects) Effects {
	all := maps.Clone(e)
	for _, other := range others {
		maps.Copy(all, other)
	}
	return all
}

// RejectUnused lets a command refuse flags that would have no effect.
func (e Effects) RejectUnused(cmd *cobra.Command) {
	cmd.PreRunE = func(cmd *cobra.Command, args []string) (err error) {
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if why := e[f.Name].wrong(args); err == nil && why != "" {
				err = fmt.Errorf("--%s %s", f.Name, why)
			}
		})
		return err
	}
	cmd.Annotations = map[string]string{conditional: strings.Join(slices.Sorted(maps.Keys(e)), " ")}
}

const conditional = "flags with conditions"

// Conditional are the flags of a command that may have no effect.
func Conditional(cmd *cobra.Command) []string { return strings.Fields(cmd.Annotations[conditional]) }

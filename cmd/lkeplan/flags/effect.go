package flags

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Effects are the conditions under which flags of a command have an effect. Other flags always have one.
type Effects map[string]Effect

// Effect is the condition for one flag: other flags and arguments.
type Effect struct {
	When func(args []string) bool // nil: always
	Else string                   // the error if the condition is false, after the name of the flag

	also *Effect // another condition, checked first
}

// Unless adds the condition that holds is false.
func (e Effect) Unless(holds func(args []string) bool, instead string) Effect {
	e.also = &Effect{When: func(args []string) bool { return !holds(args) }, Else: instead}
	return e
}

// wrong explains why the flag has no effect; "" if it has one.
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

// And joins conditions.
func (e Effects) And(others ...Effects) Effects {
	all := maps.Clone(e)
	for _, other := range others {
		maps.Copy(all, other)
	}
	return all
}

// RejectUnused lets a command refuse flags that have no effect.
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

// Conditional are the flags of a command with a condition.
func Conditional(cmd *cobra.Command) []string { return strings.Fields(cmd.Annotations[conditional]) }

package flags

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Effects say of each flag of a command when it has an effect.
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

// Always are flags that have an effect however the command is run.
func Always(names ...string) Effects {
	all := Effects{}
	for _, name := range names {
		all[name] = Effect{}
	}
	return all
}

// And are these effects and others.
func (e Effects) And(others ...Effects) Effects {
	all := maps.Clone(e)
	for _, other := range others {
		maps.Copy(all, other)
	}
	return all
}

// RejectUnused lets a command refuse flags that would have no effect. Each flag of it has to be named.
func (e Effects) RejectUnused(cmd *cobra.Command) {
	cmd.PreRunE = func(cmd *cobra.Command, args []string) (err error) {
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if why := e[f.Name].wrong(args); err == nil && why != "" {
				err = fmt.Errorf("--%s %s", f.Name, why)
			}
		})
		return err
	}
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	for _, name := range slices.Sorted(maps.Keys(e)) {
		cmd.Annotations[counted+name] = "yes"
	}
}

const counted = "flag with an effect: "

// MissingRules are the flags of a command of which Effects do not say when they have one, and
// those that they name and it does not have.
func MissingRules(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, named := cmd.Annotations[counted+f.Name]; !named && f.Name != "help" {
			names = append(names, f.Name)
		}
	})
	for key := range cmd.Annotations {
		if name, ok := strings.CutPrefix(key, counted); ok && cmd.Flags().Lookup(name) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

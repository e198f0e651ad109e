// Package flags has what several commands share: their flags, the output of reports, and
// the properties of the terminal.
//
// It knows no command.
package flags

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/config/eval"
)

// A Choice is a flag with a few possible values.
type Choice struct {
	Value   string
	Of      []string
	Instead map[string]string // hints for impossible values that users try
}

// Flag adds the flag to a command. The usage names the value in backquotes. Unless it describes the possible values
// after a colon, they are added, before a default. The shell completes them.
func (c *Choice) Flag(cmd *cobra.Command, name, shorthand, usage string) {
	usage, fallback, found := strings.Cut(usage, " (default")
	if !strings.Contains(usage, ": ") {
		last := len(c.Of) - 1
		usage = fmt.Sprintf("%s: %s or %s", usage, strings.Join(c.Of[:last], ", "), c.Of[last])
	}
	if found {
		usage += " (default" + fallback
	}
	cmd.Flags().VarP(c, name, shorthand, usage)
	// It fails only for an unknown flag.
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(c.Of, cobra.ShellCompDirectiveNoFileComp))
}

// String returns the current value.
func (c *Choice) String() string { return c.Value }

// Type is not displayed: the usage of each choice names its value.
func (c *Choice) Type() string { return "choice" }

// Set takes one of the possible values.
func (c *Choice) Set(value string) error {
	if hint := c.Instead[value]; hint != "" {
		return errors.New(hint)
	}
	if !slices.Contains(c.Of, value) {
		return fmt.Errorf("must be one of %s.%s", strings.Join(c.Of, ", "), eval.DidYouMean(value, c.Of))
	}
	c.Value = value
	return nil
}

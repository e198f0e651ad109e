package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/config/eval"
)

// A choice is a flag with a few possible values.
type choice struct {
	value   string
	of      []string
	instead map[string]string // what to do for a value that is not possible, and that people try
}

// flag adds the flag to a command. Its usage names the value in backquotes; the
// possible values are added. The shell completes them.
func (c *choice) flag(cmd *cobra.Command, name, shorthand, usage string) {
	last := len(c.of) - 1
	usage = fmt.Sprintf("%s: %s or %s", usage, strings.Join(c.of[:last], ", "), c.of[last])
	cmd.Flags().VarP(c, name, shorthand, usage)
	// The only error is that there is no such flag.
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(c.of, cobra.ShellCompDirectiveNoFileComp))
}

// String is the present value.
func (c *choice) String() string { return c.value }

// Type is never shown: the usage of each choice names its value.
func (c *choice) Type() string { return "choice" }

// Set takes one of the possible values.
func (c *choice) Set(value string) error {
	if hint := c.instead[value]; hint != "" {
		return errors.New(hint)
	}
	if !slices.Contains(c.of, value) {
		return fmt.Errorf("must be one of %s.%s", strings.Join(c.of, ", "), eval.DidYouMean(value, c.of))
	}
	c.value = value
	return nil
}

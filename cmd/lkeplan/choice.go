package main

import (
	"fmt"
	"slices"
	"strings"
)

// A choice is a flag with a few possible values.
type choice struct {
	value string
	of    []string
}

// String is the present value.
func (c *choice) String() string { return c.value }

// Type is how the flag's value is shown in the usage text.
func (c *choice) Type() string { return strings.Join(c.of, "|") }

// Set takes one of the possible values.
func (c *choice) Set(value string) error {
	if !slices.Contains(c.of, value) {
		return fmt.Errorf("must be one of %s", strings.Join(c.of, ", "))
	}
	c.value = value
	return nil
}

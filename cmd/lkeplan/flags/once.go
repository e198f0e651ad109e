package flags

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// once is a text that is given once, and is not empty: of several the last would be taken, and
// the others would be without effect.
type once struct {
	into  *string
	given bool
}

// Once adds a flag that takes one text.
func Once(cmd *cobra.Command, into *string, name, usage string) {
	cmd.Flags().Var(&once{into: into}, name, usage)
}

// String is the present value.
func (o *once) String() string {
	if o.into == nil {
		return ""
	}
	return *o.into
}

// Type is never shown: the usage names the value.
func (o *once) Type() string { return "string" }

// Set takes the text.
func (o *once) Set(value string) error {
	switch {
	case value == "":
		return errors.New("it is empty; leave the flag out")
	case o.given:
		return fmt.Errorf("it is given twice, with %s before", *o.into)
	}
	*o.into, o.given = value, true
	return nil
}

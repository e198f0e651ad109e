package comparison

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/engine/revision"
)

// A Selection says which directories a command is for.
type Selection struct {
	Recursive bool
	Affected  bool // only those that the change can reach
}

// Flags adds the flag --recursive.
func (s *Selection) Flags(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&s.Recursive, "recursive", "r", false,
		"take all directories with a cluster block, at and below those that are given")
}

// Several reports whether the command is for more than one directory, however many it
// finds.
func (s Selection) Several(args []string) bool { return s.Recursive || s.Affected || len(args) > 1 }

// Members finds the directories that arguments name: in the working tree and, where
// base opens it, in the commit that the change begins with.
func (s Selection) Members(ctx context.Context, from *flags.Source, args []string,
	base revision.FindBase) ([]revision.Member, error) {
	selected := revision.Selection{Arguments: args, Recursive: s.Recursive}
	return revision.Members(ctx, from.Options, flags.Release(), selected, base)
}

// Missing reports whether a directory is not there.
func Missing(dir string) bool {
	_, err := os.Stat(dir)
	return errors.Is(err, fs.ErrNotExist)
}

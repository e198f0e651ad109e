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

// A Selection selects the directories of a command.
type Selection struct {
	Recursive bool
	Affected  bool // only those that the change can affect
}

// Flags adds the flag --recursive.
func (s *Selection) Flags(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&s.Recursive, "recursive", "r", false,
		"read each DIR and its subdirectories; skip those without a cluster block")
}

// Several reports whether the command accepts several directories, even if it finds only
// one.
func (s Selection) Several(args []string) bool { return s.Recursive || s.Affected || len(args) > 1 }

// Members finds the directories of the arguments: in the working tree and, if base is given,
// in the commit where the change starts.
func (s Selection) Members(ctx context.Context, from *flags.Source, args []string,
	base revision.FindBase) ([]revision.Member, error) {
	selected := revision.Selection{Arguments: args, Recursive: s.Recursive}
	return revision.Members(ctx, from.Options, flags.Release(), selected, base)
}

// Missing reports whether a directory does not exist.
func Missing(dir string) bool {
	_, err := os.Stat(dir)
	return errors.Is(err, fs.ErrNotExist)
}

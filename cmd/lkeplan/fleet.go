package main

import (
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/engine/fleet"
	commits "github.com/lkeplan/lkeplan/engine/source"
)

// A selection says which directories a command is for.
type selection struct {
	recursive bool
	affected  bool // only those that the change can reach
}

func (s *selection) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&s.recursive, "recursive", "r", false,
		"take all directories with a cluster block, at and below those that are given")
}

// several reports whether the command is for more than one directory, however many it
// finds.
func (s selection) several(args []string) bool { return s.recursive || s.affected || len(args) > 1 }

// members finds the directories that arguments name: in the working tree and, where
// base opens it, in the commit that the change begins with.
func (s selection) members(from *source, args []string,
	base func(dir string) (*commits.Revision, error)) ([]fleet.Member, error) {
	return fleet.Members(from.Options, release(), fleet.Selection{Arguments: args, Recursive: s.recursive}, base)
}

// missing reports whether a directory is not there.
func missing(dir string) bool {
	_, err := os.Stat(dir)
	return errors.Is(err, fs.ErrNotExist)
}

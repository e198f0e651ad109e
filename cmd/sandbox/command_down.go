package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/sandbox/stack"
)

func (a *app) down() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop a sandbox and remove its directory",
		Long: `End the processes of a sandbox, wait until they are gone, and remove its directory.
Without --dir it is the one that is running; if several are, they are listed.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := a.toEnd(cmd.Context(), dir)
			if err != nil || st == nil {
				return err
			}
			return a.end(cmd.Context(), st)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory of the sandbox")
	return cmd
}

// end stops a sandbox, even if the user pressed ctrl-C meanwhile.
func (a *app) end(ctx context.Context, st *stack.Stack) error {
	began := time.Now()
	if err := st.Down(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	a.say("the sandbox in %s is down (%.1fs)", st.Dir, time.Since(began).Seconds())
	return nil
}

// toEnd finds the sandbox to stop; nil means none.
func (a *app) toEnd(ctx context.Context, dir string) (*stack.Stack, error) {
	registry, err := a.registry()
	if err != nil {
		return nil, err
	}
	if dir == "" {
		dir, err = a.onlyOne(ctx, registry)
		if err != nil || dir == "" {
			return nil, err
		}
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	st, err := stack.Open(dir, registry)
	if err != nil {
		return nil, err
	}
	if st.Bound && st.Owner.Alive() {
		return nil, fmt.Errorf("the sandbox in %s belongs to `sandbox run` (process %d): it stops when that command ends", dir,
			st.Owner.PID)
	}
	return st, nil
}

// onlyOne returns the directory of the one sandbox that is running. The leftovers
// of those that died, with the machine for one, are removed on the way.
func (a *app) onlyOne(ctx context.Context, registry stack.Registry) (string, error) {
	all, err := registry.List()
	if err != nil {
		return "", err
	}
	var dirs []string
	for _, s := range all {
		switch {
		case s.Bound && s.Owner.Alive():
		case s.Running() || s.Owner.Alive():
			dirs = append(dirs, s.Dir)
		default:
			st, err := stack.Open(s.Dir, registry)
			if err == nil {
				err = st.Down(ctx)
			}
			if err != nil && !errors.Is(err, stack.ErrNoSandbox) {
				return "", err
			}
			a.say("removed the files of a stopped sandbox in %s", s.Dir)
		}
	}
	switch len(dirs) {
	case 0:
		a.note("no sandbox is running")
		return "", nil
	case 1:
		return dirs[0], nil
	}
	return "", fmt.Errorf("several sandboxes are running; select one with --dir:\n  %s", strings.Join(dirs, "\n  "))
}

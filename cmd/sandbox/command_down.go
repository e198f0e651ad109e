package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/sandbox/stack"
)

func (a *app) down() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop a sandbox and remove its directory",
		Long: `End the processes of a sandbox, wait until they are gone, and remove its
directory. Without --dir it is the sandbox of KUBECONFIG, as "sandbox up" prints
it. Stop a controller that you have started yourself.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				kubeconfig := a.getenv("KUBECONFIG")
				if kubeconfig == "" {
					return errors.New("which sandbox? set --dir to its directory, or KUBECONFIG, to what `sandbox up` printed")
				}
				dir = filepath.Dir(kubeconfig)
			}
			path, err := filepath.Abs(dir)
			if err != nil {
				return err
			}
			st, err := stack.Open(path)
			if err != nil {
				return err
			}
			return a.end(cmd.Context(), st)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory of the sandbox (default: the one of KUBECONFIG)")
	return cmd
}

// end stops a sandbox, even if the user has pressed ctrl-C meanwhile.
func (a *app) end(ctx context.Context, st *stack.Stack) error {
	began := time.Now()
	if err := st.Down(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	a.log.Printf("the sandbox in %s is down (%.1fs)", st.Dir, time.Since(began).Seconds())
	return nil
}

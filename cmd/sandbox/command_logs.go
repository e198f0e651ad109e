package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/sandbox/stack"
)

func (a *app) logs() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:       "logs [COMPONENT]",
		Short:     "Print the log of a component, or list log files",
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: stack.Names(),
		RunE: func(_ *cobra.Command, args []string) error {
			states, err := a.states(dir)
			if err != nil {
				return err
			}
			switch len(states) {
			case 0:
				return errors.New("no sandbox is running")
			case 1:
				return a.printLogs(states[0], args)
			}
			return errors.New("several sandboxes are running; select one with --dir")
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory of the sandbox (default: the running one)")
	return cmd
}

func (a *app) printLogs(s *stack.State, args []string) error {
	if len(args) == 0 {
		for _, c := range s.Components {
			fmt.Fprintln(a.stdout, c.Log)
		}
		return nil
	}
	c, ok := s.Component(args[0])
	if !ok {
		return fmt.Errorf("no component %q: want one of %s", args[0], strings.Join(stack.Names(), ", "))
	}
	log, err := os.Open(c.Log)
	if err != nil {
		return err
	}
	defer log.Close()
	_, err = io.Copy(a.stdout, log)
	return err
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/sandbox/stack"
)

func (a *app) status() *cobra.Command {
	var dir, output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the sandboxes that are running",
		Long: `Show what is running where, whether it answers, and what the Linode simulator counted.
The exit status is 0 if a sandbox is running and everything in it is ready, else 1.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "text" && output != "json" {
				return fmt.Errorf("--output %q: want text or json", output)
			}
			all, err := a.inspect(cmd.Context(), dir)
			if err != nil {
				return err
			}
			if err := a.printStatus(all, output); err != nil {
				return err
			}
			unready := func(s stack.Status) bool { return !s.AllReady }
			if len(all) == 0 || slices.ContainsFunc(all, unready) {
				return exitStatus(1)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory of the sandbox (default: all running)")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "output format: text or json")
	return cmd
}

// inspect returns the status of the sandbox in dir, or of all that are running.
func (a *app) inspect(ctx context.Context, dir string) ([]stack.Status, error) {
	states, err := a.states(dir)
	if err != nil {
		return nil, err
	}
	all := []stack.Status{}
	for _, s := range states {
		all = append(all, s.Status(ctx))
	}
	return all, nil
}

func (a *app) states(dir string) ([]*stack.State, error) {
	if dir != "" {
		path, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		s, err := stack.Load(path)
		return []*stack.State{s}, err
	}
	registry, err := a.registry()
	if err != nil {
		return nil, err
	}
	states, err := registry.List()
	return slices.DeleteFunc(states, func(s *stack.State) bool { return !s.Running() }), err
}

func (a *app) printStatus(all []stack.Status, output string) error {
	if output == "json" {
		return a.printJSON(all)
	}
	if len(all) == 0 {
		fmt.Fprintln(a.stdout, "no sandbox is running")
	}
	for i, s := range all {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		if err := a.printOne(s); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printOne(s stack.Status) error {
	word := "not ready"
	if s.AllReady {
		word = "ready"
	}
	what := s.Cluster.Tier + " tier"
	if s.Cluster.Mode == stack.ModeInstance {
		what = "Linodes without LKE"
	}
	fmt.Fprintf(a.stdout, "%s: %s, since %s, %s in %s\n\n", s.Dir, word, s.Began.Format(time.DateTime), what,
		s.Cluster.Region)
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "COMPONENT\tPID\tPORTS\tVERSION\tHEALTH")
	for _, name := range s.Names() {
		c, _ := s.Component(name)
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\n", name, c.PID, ports(c), c.Version, s.Health[name])
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return a.printCounters(s.Simulator)
}

// ports lists the ports by their names: "client 2379, peer 2380".
func ports(c stack.Component) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(c.Ports)) {
		words = append(words, fmt.Sprintf("%s %d", name, c.Ports[name]))
	}
	return strings.Join(words, ", ")
}

// printCounters prints every counter of the simulator, so a new counter needs
// nothing here.
func (a *app) printCounters(stats json.RawMessage) error {
	if stats == nil {
		return nil
	}
	var text bytes.Buffer
	if err := json.Indent(&text, stats, "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "\nLinode simulator: %s\n", text.Bytes())
	return err
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/costs"
	"github.com/lkeplan/lkeplan/engine/inspect"
)

const statusHelp = `Show the state of a cluster on one screen:

  * whether disruption is stopped, until when, by whom and why
  * for each pool, the number of nodes, their state and cost, and the limits
  * which nodes are being replaced, and what blocks the replacement
  * which plan types (kinds of Linode) are out of stock
  * whether the Linode API answers and accepts the token
  * for each NodePlan (an object that applies commits), the applied commit and
    the next commit
  * which pods wait for a node, and the last warning about them
  * for each node, its plan type, state, age and price, and how much of its CPU
    and memory the pods request. If there are more than 20 nodes, status sums
    them up by pool and plan type; --all lists each node
  * with --cost-by, what each namespace pays for the nodes, or each value of a
    label of pods, with its part of idle room and DaemonSets

With POOL, status shows only this pool.

A line of the output that starts with | continues the previous line, or quotes a
message of a Kubernetes object.

You need permission to list nodes, pods, nodepools, nodeclaims and
linodenodeclasses. If you cannot list capacitylimits, nodeplans, disruptionstops,
poddisruptionbudgets or events, status shows what is unknown without them. status
also works if the controller is down.
Prices come from the catalogue, a file with plan types (kinds of Linode), regions and prices.`

type statusSettings struct {
	look
	watch    bool
	all      bool
	interval time.Duration
	pool     string
	costBy   *costs.By
}

func newStatus(env *flags.Env) *cobra.Command {
	var s statusSettings
	cmd := &cobra.Command{
		Use:     "status [POOL]",
		Short:   "Show what is happening, and what is waiting",
		Long:    statusHelp,
		Example: "  lkeplan status\n  lkeplan status general --watch\n  lkeplan status --cost-by namespace\n  lkeplan status -o json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("status takes the name of one pool, and got %d", len(args))
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return s.names(cmd.Context(), "pool", "", begun), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				s.pool = args[0]
			}
			return s.run(cmd.Context(), env)
		},
	}
	s.flags(cmd, env)
	cmd.Flags().BoolVarP(&s.watch, "watch", "w", false, "show the state again and again, until Ctrl-C is pressed")
	cmd.Flags().BoolVar(&s.all, "all", false, "also list pools with nothing to report, all workloads with waiting pods, and each node")
	cmd.Flags().DurationVar(&s.interval, "interval", 5*time.Second, "read the cluster again after each `TIME`")
	costFlag(cmd, &s.costBy, "")
	flags.RejectUnused(cmd,
		flags.Use{Flags: "all", If: func() bool { return s.output.Value == "text" }, Else: "is for text: JSON always has all"},
		flags.Use{Flags: "interval", If: func() bool { return s.watch }, Else: "is for --watch"})
	return cmd
}

func (s statusSettings) run(ctx context.Context, env *flags.Env) error {
	terminal := flags.Terminal(env.Stdout)
	switch {
	case s.interval < time.Second:
		return fmt.Errorf("--interval is %s; it must be at least 1s", s.interval)
	case s.watch && s.output.Value == "json":
		return errors.New("--watch draws on a terminal, and -o json is for programs: give one of them")
	case s.watch && terminal == nil:
		return errors.New("--watch draws on a terminal, and the output is none")
	case s.watch && flags.Dumb(env.Getenv):
		return errors.New("--watch moves the cursor, which this terminal cannot (TERM=dumb)")
	}
	prices, from, err := s.connect()
	if err != nil {
		return err
	}
	status := func() (inspect.Status, error) {
		lists, err := readKinds(ctx, from, cluster.StatusKinds())
		if err != nil {
			return inspect.Status{}, err
		}
		return inspect.NewStatus(lists, inspect.Given{Place: from.Place(), Catalog: prices, Now: time.Now(), Pool: s.pool, CostBy: s.costBy})
	}
	found, err := status()
	if err != nil {
		return err
	}
	text := func(width int) string { return found.Text(inspect.StatusView{Width: width, All: s.all}) }
	if !s.watch {
		return s.output.printWide(env, found, text)
	}
	for {
		shown := text(cmp.Or(flags.Columns(env.Stdout, env.Getenv), 120))
		if err != nil {
			shown = errorText(err, flags.Columns(env.Stdout, env.Getenv)) + "\n"
		}
		if _, err := io.WriteString(terminal, oneScreen(shown, flags.Lines(terminal))); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(s.interval):
		}
		found, err = status()
	}
}

// oneScreen returns a text in the place of what a terminal shows. Of a text with more lines than the terminal has,
// it has the first; 0 lines are as many as there are.
func oneScreen(text string, lines int) string {
	all := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	if more := len(all) - lines + 1; lines > 1 && more > 1 {
		all = append(slices.Clone(all[:lines-1]), fmt.Sprintf("and %d more lines: lkeplan status without --watch shows them", more))
	}
	return "\x1b[H\x1b[J" + strings.Join(all, "")
}

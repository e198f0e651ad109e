package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/inspect"
)

const topHelp = `Show the nodes of a cluster as they are now: how much of each the pods ask for,
its price, its plan type, its age and how it does; the pools; and what rolls.

Keys: p n c m d a s sort by pool, name, CPU, memory, dollars, age and state, r
turns the order round; enter looks into a node, esc goes back, q ends.

It takes the right to list nodes, pods, nodeclaims and nodepools. With the right
to watch them it follows each change, else it lists them again and again. What
may not be listed is left out, but for nodes. Prices are those of the catalogue.`

// topSettings are the flags as they were given.
type topSettings struct {
	look
	once     bool
	reverse  bool
	interval time.Duration
	sort     flags.Choice
}

// newTop returns the command.
func newTop(env *flags.Env) *cobra.Command {
	s := topSettings{sort: flags.Choice{Value: string(inspect.ByPool), Of: inspect.SortKeys()}}
	cmd := &cobra.Command{
		Use:     "top",
		Short:   "Show nodes live: use, price, age, and what rolls",
		Long:    topHelp,
		Example: "  lkeplan top\n  lkeplan top --once --sort cost\n  lkeplan top -o json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("top takes no arguments, and got %q", args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context(), env) },
	}
	s.flags(cmd, env, "take the prices in `FILE`, which \"lkeplan catalog refresh\" writes, and not the built-in ones",
		"`FORMAT` of a screen that is written once")
	cmd.Flags().BoolVar(&s.once, "once", false,
		"write one screen and end, as where the output is no terminal, or a dumb one")
	cmd.Flags().DurationVar(&s.interval, "interval", 2*time.Second, "how often to list what may not be watched")
	s.sort.Flag(cmd, "sort", "", "sort nodes by `KEY`")
	cmd.Flags().BoolVar(&s.reverse, "reverse", false, "turn the order round")
	flags.Always("kubeconfig", "context", "once", "catalog", "sort", "reverse", "output").And(flags.Effects{"interval": {
		When: func([]string) bool { return !s.once && s.output.Value != "json" },
		Else: "is for a screen that follows the cluster: leave --once and -o json out",
	}}).RejectUnused(cmd)
	return cmd
}

func (s topSettings) run(ctx context.Context, env *flags.Env) error {
	if err := tooOften(s.interval); err != nil {
		return err
	}
	prices, from, read, err := s.read(ctx, s.interval, cluster.TopKinds())
	if err != nil {
		return err
	}
	view := inspect.ScreenView{Place: from.Place(), ASCII: !flags.Unicode(env.Getenv)}
	terminal := flags.Terminal(env.Stdout)
	if terminal != nil && !s.once && s.output.Value != "json" && !flags.Dumb(env.Getenv) {
		view.Paint = painter(terminal, env.Getenv)
		return draw(ctx, env, terminal, read, newModel(read, prices.Price, view, inspect.SortKey(s.sort.Value), s.reverse))
	}
	known, _ := read.Snapshot()
	screen := inspect.NewScreen(known, prices.Price)
	screen.Sort(inspect.SortKey(s.sort.Value), s.reverse)
	if s.output.Value == "json" {
		return writeJSON(env.Stdout, screen)
	}
	view.Width, view.Now, view.At = columns(env), time.Now(), -1 // as wide as it is where there is no terminal
	view.Paint = painter(env.Stdout, env.Getenv)
	_, err = io.WriteString(env.Stdout, screen.Draw(view))
	return err
}

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/engine/follow"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/engine/top"
	"github.com/lkeplan/lkeplan/kube"
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
	access   kube.Access
	once     bool
	reverse  bool
	catalog  string
	interval time.Duration
	sort     flags.Choice
	output   flags.Choice
}

// newTop returns the command.
func newTop(env *flags.Env) *cobra.Command {
	s := topSettings{
		sort:   flags.Choice{Value: string(top.ByPool), Of: top.Keys()},
		output: flags.Choice{Value: "text", Of: []string{"text", "json"}},
	}
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
	flags.ClusterFlags(cmd, env, &s.access)
	cmd.Flags().BoolVar(&s.once, "once", false,
		"write one screen and end, as where the output is no terminal, or a dumb one")
	cmd.Flags().DurationVar(&s.interval, "interval", 2*time.Second, "how often to list what may not be watched")
	cmd.Flags().StringVar(&s.catalog, "catalog", "",
		"take the prices in `FILE`, which \"lkeplan catalog refresh\" writes, and not the built-in ones")
	s.sort.Flag(cmd, "sort", "", "sort nodes by `KEY`")
	cmd.Flags().BoolVar(&s.reverse, "reverse", false, "turn the order round")
	s.output.Flag(cmd, "output", "o", "`FORMAT` of a screen that is written once")
	flags.Always("kubeconfig", "context", "once", "catalog", "sort", "reverse", "output").And(flags.Effects{"interval": {
		When: func([]string) bool { return !s.once && s.output.Value != "json" },
		Else: "is for a screen that follows the cluster: leave --once and -o json out",
	}}).Of(cmd)
	return cmd
}

func (s topSettings) run(ctx context.Context, env *flags.Env) error {
	if s.interval < 100*time.Millisecond {
		return fmt.Errorf("--interval is %s; it must be at least 100ms", s.interval)
	}
	prices, err := revision.Options{Catalog: s.catalog}.Prices()
	if err != nil {
		return err
	}
	cluster, client, err := connect(s.access)
	if err != nil {
		return err
	}
	follower := follow.NewTop(client, s.interval)
	if err := follower.Read(ctx); err != nil {
		return cluster.Explain(err)
	}
	terminal := flags.Terminal(env.Stdout)
	if s.once || s.output.Value == "json" || terminal == nil || flags.Dumb(env.Getenv) {
		known, _ := follower.Snapshot()
		screen := top.Of(known, prices.Price)
		screen.Sort(top.Key(s.sort.Value), s.reverse)
		return s.write(env, screen, cluster.Place())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go follower.Follow(ctx)
	m := newModel(follower, prices.Price, top.View{
		Place: cluster.Place(), ASCII: !flags.Unicode(env.Getenv), Paint: painter(terminal, env.Getenv),
	}, top.Key(s.sort.Value), s.reverse)
	return draw(ctx, env, terminal, m)
}

// write writes one screen, as wide as it is where there is no terminal.
func (s topSettings) write(env *flags.Env, screen top.Screen, place string) error {
	if s.output.Value == "json" {
		return writeJSON(env.Stdout, screen)
	}
	view := top.View{Width: columns(env), Now: time.Now(), At: -1, Place: place}
	view.ASCII = !flags.Unicode(env.Getenv)
	view.Paint = painter(env.Stdout, env.Getenv)
	_, err := io.WriteString(env.Stdout, screen.Draw(view))
	return err
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// look is what commands that look at a cluster have in common.
type look struct {
	access  kube.Access
	catalog string
	output  flags.Choice
}

// flags adds those that all have.
func (l *look) flags(cmd *cobra.Command, env *flags.Env, prices, format string) {
	l.output = flags.Choice{Value: "text", Of: []string{"text", "json"}}
	flags.ClusterFlags(cmd, env, &l.access)
	cmd.Flags().StringVar(&l.catalog, "catalog", "", prices)
	l.output.Flag(cmd, "output", "o", format)
}

// read reads the kinds of a cluster, with the prices of its nodes.
func (l *look) read(ctx context.Context, every time.Duration, kinds []cluster.Kind) (prices *catalog.Catalog,
	from *kube.Cluster, read *cluster.Follower, err error) {
	if every < 100*time.Millisecond {
		return nil, nil, nil, fmt.Errorf("--interval is %s; it must be at least 100ms", every)
	}
	if prices, err = (revision.Options{Catalog: l.catalog}).Prices(); err != nil {
		return nil, nil, nil, err
	}
	if from, err = kube.Connect(l.access); err != nil {
		return nil, nil, nil, err
	}
	watches, err := from.Client(scheme.Scheme)
	if err != nil {
		return nil, nil, nil, err
	}
	read = cluster.NewFollower(watches, every, kinds...)
	return prices, from, read, from.Explain(read.Read(ctx))
}

// printResult writes a value as JSON, or its text, as wide as the terminal or the 120 columns that
// there are without one.
func printResult(env *flags.Env, format string, value any, text func(width int) string) error {
	if format == "json" {
		return writeJSON(env.Stdout, value)
	}
	_, err := io.WriteString(env.Stdout, text(cmp.Or(columns(env), 120)))
	return err
}

// draw shows a model of what is followed on a terminal until a person or a signal ends it.
func draw(ctx context.Context, env *flags.Env, terminal *os.File, of *cluster.Follower, m tea.Model) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go of.Follow(ctx)
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(env.Stdin), tea.WithOutput(terminal)).Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return nil // by a signal
	}
	return err
}

// columns are those of the terminal, or else of the variable COLUMNS; 0 if neither says.
func columns(env *flags.Env) int {
	width := flags.Columns(env.Stdout, env.Getenv)
	if n, err := strconv.Atoi(env.Getenv("COLUMNS")); width == 0 && err == nil && n > 0 {
		width = n
	}
	return width
}

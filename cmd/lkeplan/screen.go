package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"strconv"

	tea "charm.land/bubbletea/v2"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/kube"
)

// printResult writes a value as JSON, or its text, as wide as the terminal or the 120 columns that
// there are without one.
func printResult(env *flags.Env, format string, value any, text func(width int) string) error {
	if format == "json" {
		return writeJSON(env.Stdout, value)
	}
	_, err := io.WriteString(env.Stdout, text(cmp.Or(columns(env), 120)))
	return err
}

// connect returns a cluster, and a client that lists and watches its objects.
func connect(access kube.Access) (*kube.Cluster, client.WithWatch, error) {
	cluster, err := kube.Connect(access)
	if err != nil {
		return nil, nil, err
	}
	watches, err := cluster.Client(scheme.Scheme)
	return cluster, watches, err
}

// draw shows a model on a terminal until a person or a signal ends it.
func draw(ctx context.Context, env *flags.Env, terminal *os.File, m tea.Model) error {
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

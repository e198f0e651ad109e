package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/inspect"
)

const statusHelp = `Show the state of a cluster on one screen:

  * for each pool, the number of nodes, their state and cost, and the limits
  * which nodes are being replaced, and what blocks the replacement
  * which plan types (kinds of Linode) are out of stock
  * whether the Linode API answers and accepts the token
  * for each NodePlan (an object that applies commits), the applied commit and
    the next commit
  * why pods wait for a node

With POOL, status shows only this pool.

A line of the output that starts with | continues the previous line, or quotes a
message of a Kubernetes object.

You need permission to list nodes, pods, events, daemonsets, persistentvolumes,
persistentvolumeclaims, storageclasses, poddisruptionbudgets, and the custom
resources of Karpenter and lkeplan. If you cannot list one of these resources,
status shows the missing permission. status also works if the controller is down.
Prices come from the catalogue, a file with plan types (kinds of Linode), regions and prices.`

type statusSettings struct {
	look
	watch    bool
	all      bool
	interval time.Duration
	pool     string
}

func newStatus(env *flags.Env) *cobra.Command {
	var s statusSettings
	cmd := &cobra.Command{
		Use:     "status [POOL]",
		Short:   "Show what is happening, and what is waiting",
		Long:    statusHelp,
		Example: "  lkeplan status\n  lkeplan status general --watch\n  lkeplan status -o json",
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
	cmd.Flags().BoolVarP(&s.watch, "watch", "w", false, "redraw at each change, until q is pressed")
	cmd.Flags().BoolVar(&s.all, "all", false, "also list pools with nothing to report, and all workloads with waiting pods")
	cmd.Flags().DurationVar(&s.interval, "interval", 2*time.Second,
		"refresh the resources that you can list but not watch every `TIME`")
	flags.Effects{
		"all": {
			When: func([]string) bool { return s.output.Value == "text" }, Else: "is for text: JSON always has all",
		},
		"interval": {When: func([]string) bool { return s.watch }, Else: "is for --watch"},
	}.RejectUnused(cmd)
	return cmd
}

func (s statusSettings) run(ctx context.Context, env *flags.Env) error {
	if err := tooOften(s.interval); err != nil {
		return err
	}
	terminal := flags.Terminal(env.Stdout)
	switch {
	case s.watch && s.output.Value == "json":
		return errors.New("--watch draws on a terminal, and -o json is for programs: give one of them")
	case s.watch && terminal == nil:
		return errors.New("--watch draws on a terminal, and the output is none")
	case s.watch && flags.Dumb(env.Getenv):
		return errors.New("--watch moves the cursor, which this terminal cannot (TERM=dumb)")
	}
	prices, from, read, err := s.read(ctx, s.interval, cluster.StatusKinds())
	if err != nil {
		return err
	}
	given := inspect.Given{Place: from.Place(), Catalog: prices, Now: time.Now(), Pool: s.pool}
	lists, _ := read.Snapshot()
	found, err := inspect.NewStatus(ctx, lists, given)
	if err != nil {
		return err
	}
	if s.watch {
		return s.draw(ctx, env, terminal, read, &statusModel{
			source: read, given: given, all: s.all, lists: lists, found: found,
			judge: func(lists cluster.Snapshot, given inspect.Given) (inspect.Status, error) {
				return inspect.NewStatus(ctx, lists, given)
			},
		})
	}
	return s.output.printWide(env, found, func(width int) string {
		return found.Text(inspect.StatusView{Width: width, All: s.all})
	})
}

// snapshots is what a model shows; cluster.Follower is one.
type snapshots interface {
	// Snapshot returns what is known, and whether it has changed since the last call.
	Snapshot() (s cluster.Snapshot, changed bool)
}

// statusModel is what is on the terminal. It implements tea.Model.
type statusModel struct {
	source        snapshots
	given         inspect.Given
	all           bool
	lists         cluster.Snapshot
	found         inspect.Status
	problem       error
	judge         func(cluster.Snapshot, inspect.Given) (inspect.Status, error)
	width, height int
	top           int // the first line that is shown
}

// Init implements tea.Model.
func (m *statusModel) Init() tea.Cmd { return nextTick() }

// Update implements tea.Model.
func (m *statusModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tick:
		m.refresh(time.Time(msg))
		return m, nextTick()
	case tea.KeyPressMsg:
		switch msg.String() {
		case "q", "esc", "ctrl+c":
			return m, tea.Quit
		case "up", "k":
			m.top--
		case "down", "j":
			m.top++
		case "pgup":
			m.top -= m.height / 2
		case "pgdown", "space":
			m.top += m.height / 2
		case "home", "g":
			m.top = 0
		}
	}
	return m, nil
}

// again is how often the status is computed if nothing has changed: windows open, and events become old.
const again = 10 * time.Second

// refresh takes over what has changed.
func (m *statusModel) refresh(now time.Time) {
	lists, changed := m.source.Snapshot()
	if changed {
		m.lists = lists
	} else if now.Sub(m.given.Now) < again {
		m.found = m.found.At(now)
		return
	}
	m.given.Now = now
	m.found, m.problem = m.judge(m.lists, m.given)
}

// View implements tea.Model.
func (m *statusModel) View() tea.View { return fullScreen(m.drawn()) }

// drawn is what is on the terminal, as many lines as it has.
func (m *statusModel) drawn() string {
	if m.width == 0 {
		return "" // the terminal has not reported its size
	}
	text := m.found.Text(inspect.StatusView{Width: m.width, All: m.all})
	if m.problem != nil {
		text = harmless(m.problem.Error())
	}
	lines, room := strings.Split(strings.TrimSuffix(text, "\n"), "\n"), max(1, m.height-1)
	m.top = max(0, min(m.top, len(lines)-room))
	lines = lines[m.top:min(len(lines), m.top+room)]
	for len(lines) < room {
		lines = append(lines, "")
	}
	return strings.Join(append(lines, "q quit  up, down"), "\n")
}

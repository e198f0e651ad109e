package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
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

type topSettings struct {
	look
	once     bool
	reverse  bool
	interval time.Duration
	sort     flags.Choice
}

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
	s.flags(cmd, env)
	cmd.Flags().BoolVar(&s.once, "once", false,
		"write one screen and end, as where the output is no terminal, or a dumb one")
	cmd.Flags().DurationVar(&s.interval, "interval", 2*time.Second, "how often to list what may not be watched")
	s.sort.Flag(cmd, "sort", "", "sort nodes by `KEY`")
	cmd.Flags().BoolVar(&s.reverse, "reverse", false, "turn the order round")
	flags.Effects{"interval": {
		When: func([]string) bool { return !s.once && s.output.Value != "json" },
		Else: "is for a screen that follows the cluster: leave --once and -o json out",
	}}.RejectUnused(cmd)
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
		return s.draw(ctx, env, terminal, read, newModel(read, prices.Price, view, inspect.SortKey(s.sort.Value), s.reverse))
	}
	known, _ := read.Snapshot()
	screen := inspect.NewScreen(known, prices.Price)
	screen.Sort(inspect.SortKey(s.sort.Value), s.reverse)
	if s.output.Value == "json" {
		return diag.JSON(env.Stdout, screen)
	}
	view.Width, view.Now, view.At = columns(env), time.Now(), -1 // as wide as it is where there is no terminal
	view.Paint = painter(env.Stdout, env.Getenv)
	_, err = io.WriteString(env.Data(), screen.Draw(view)) // which may be colored
	return err
}

// topModel is what is on the terminal. It implements tea.Model.
type topModel struct {
	source snapshots
	prices inspect.Prices
	view   inspect.ScreenView

	by      inspect.SortKey
	reverse bool

	known   cluster.Snapshot
	screen  inspect.Screen
	chosen  string // the name of the node under the cursor
	looking bool   // into it
}

// topTick is when the screen is drawn anew.
type topTick time.Time

// topEach is how often that is: what changes meanwhile is drawn together.
const topEach = time.Second

func newModel(s snapshots, prices inspect.Prices, view inspect.ScreenView, by inspect.SortKey, reverse bool) *topModel {
	m := &topModel{source: s, prices: prices, view: view, by: by, reverse: reverse}
	m.refresh(time.Now())
	return m
}

// Init implements tea.Model.
func (m *topModel) Init() tea.Cmd { return nextTop() }

func nextTop() tea.Cmd { return tea.Tick(topEach, func(t time.Time) tea.Msg { return topTick(t) }) }

// Update implements tea.Model.
func (m *topModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.view.Width, m.view.Height = msg.Width, msg.Height
	case topTick:
		m.refresh(time.Time(msg))
		return m, nextTop()
	case tea.KeyPressMsg:
		return m, m.press(msg.String())
	}
	return m, nil
}

// refresh takes over what has changed.
func (m *topModel) refresh(now time.Time) {
	m.view.Now = now
	known, changed := m.source.Snapshot()
	if !changed && m.known.Nodes != nil {
		return
	}
	m.known, m.screen = known, inspect.NewScreen(known, m.prices)
	m.screen.Sort(m.by, m.reverse)
	if m.at() < 0 {
		m.choose(0)
		m.looking = false // the node is gone
	}
}

// topSorts are the keys that sort, by what is sorted by.
var topSorts = map[string]inspect.SortKey{
	"p": inspect.ByPool, "n": inspect.ByName, "c": inspect.ByCPU, "m": inspect.ByMemory,
	"d": inspect.ByCost, "a": inspect.ByAge, "s": inspect.ByState,
}

// press does what a key is for.
func (m *topModel) press(key string) tea.Cmd {
	page := max(1, m.view.Height/2)
	switch key {
	case "ctrl+c":
		return tea.Quit
	case "q", "esc":
		if !m.looking {
			return tea.Quit
		}
		m.looking = false
	case "enter":
		m.looking = len(m.screen.Nodes) > 0
	case "up", "k":
		m.choose(m.at() - 1)
	case "down", "j":
		m.choose(m.at() + 1)
	case "pgup":
		m.choose(m.at() - page)
	case "pgdown", "space":
		m.choose(m.at() + page)
	case "home", "g":
		m.choose(0)
	case "end", "G":
		m.choose(len(m.screen.Nodes) - 1)
	case "r":
		m.order(m.by, !m.reverse)
	}
	if by, ok := topSorts[key]; ok {
		m.order(by, false)
	}
	return nil
}

func (m *topModel) order(by inspect.SortKey, reverse bool) {
	m.by, m.reverse = by, reverse
	m.screen.Sort(by, reverse)
}

// at is where the node under the cursor is; -1 where it is gone.
func (m *topModel) at() int {
	return slices.IndexFunc(m.screen.Nodes, func(n inspect.NodeRow) bool { return n.Name == m.chosen })
}

// choose moves the cursor, as far as there are nodes.
func (m *topModel) choose(at int) {
	if len(m.screen.Nodes) == 0 {
		m.chosen = ""
		return
	}
	m.chosen = m.screen.Nodes[min(max(at, 0), len(m.screen.Nodes)-1)].Name
}

// View implements tea.Model.
func (m *topModel) View() tea.View {
	v := tea.NewView(m.drawn())
	v.AltScreen = true
	return v
}

// drawn is what is on the terminal, as many lines as it has.
func (m *topModel) drawn() string {
	if m.view.Width == 0 {
		return "" // the terminal has not said how large it is
	}
	view := m.view
	view.Height = max(1, view.Height-1) // for the keys
	view.At = m.at()
	keys, drawn := "q end  enter look  sort: p n c m d a s  r turn round", m.screen.Draw(view)
	if m.looking {
		if detail, ok := m.screen.Detail(m.known, m.chosen); ok {
			keys, drawn = "q, esc back  up, down another node", detail.DrawDetail(view)
		}
	}
	lines := strings.Split(strings.TrimSuffix(drawn, "\n"), "\n")
	for len(lines) < view.Height {
		lines = append(lines, "")
	}
	if view.Paint != nil {
		keys = view.Paint(inspect.InkFaint, keys)
	}
	return strings.Join(append(lines[:min(len(lines), view.Height)], keys), "\n")
}

// painter returns what colors text for a stream; nil where that shows no colors. The
// colors are the terminal's own sixteen, so that they suit its theme.
func painter(out io.Writer, getenv func(string) string) func(inspect.Ink, string) string {
	if !flags.Colored(out, getenv) {
		return nil
	}
	styles := map[inspect.Ink]lipgloss.Style{
		inspect.InkFaint:  lipgloss.NewStyle().Faint(true),
		inspect.InkGood:   lipgloss.NewStyle().Foreground(lipgloss.Color("2")),
		inspect.InkFull:   lipgloss.NewStyle().Foreground(lipgloss.Color("1")),
		inspect.InkAlarm:  lipgloss.NewStyle().Foreground(lipgloss.Color("1")).Bold(true),
		inspect.InkChange: lipgloss.NewStyle().Foreground(lipgloss.Color("3")),
		inspect.InkChosen: lipgloss.NewStyle().Reverse(true),
	}
	return func(ink inspect.Ink, text string) string { return styles[ink].Render(text) }
}

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

const topHelp = `Show the nodes of a cluster, with plan type, price, age and state. For each
node, top also shows how much CPU and memory the pods request. Above the nodes,
top shows the pools.

  p n c m    sort by pool, name, CPU, memory
  d a s      sort by dollars, age, state
  r          reverse the order
  /          filter by name, pool, plan type or state
  enter, y   show one node; copy its name
  esc, q     go back; quit
  ?          show all keys

top only reads the cluster. To cordon or drain a node, use kubectl.

You need permission to list nodes. If you can also list pods, nodeclaims and
nodepools, top shows them. If you can watch these resources, top shows each change
immediately. Prices come from the catalogue, a file with plan types, regions and
prices.`

// topKeys is the help that ? shows.
const topKeys = `/          filter nodes by name, pool, plan type or state; esc clears the filter
enter      show the node under the cursor, with its pods
y          copy the node's name to the clipboard, if the terminal allows OSC 52
up, down   move the cursor; also k, j, page up, page down, home, end
p n c m    sort by pool, name, CPU, memory
d a s      sort by dollars, age, state
r          reverse the order
?          show this help
esc        go back
q          quit

top is read-only: it cannot cordon, drain or delete. Use kubectl for that.`

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
		Short:   "Show nodes live, with use, price and age",
		Long:    topHelp,
		Example: "  lkeplan top\n  lkeplan top --once --sort cost\n  lkeplan top -o json",
		Args:    flags.Arguments(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context(), env) },
	}
	s.flags(cmd, env)
	cmd.Flags().BoolVar(&s.once, "once", false,
		"print one screen and exit (default: true if the output is no terminal, or if TERM is dumb)")
	cmd.Flags().DurationVar(&s.interval, "interval", 2*time.Second,
		"refresh the resources that you can list but not watch every `TIME`")
	s.sort.Flag(cmd, "sort", "", "sort nodes by `KEY`")
	cmd.Flags().BoolVar(&s.reverse, "reverse", false, "reverse the order")
	flags.Effects{"interval": {
		When: func([]string) bool { return !s.once && s.output.Value != "json" },
		Else: "is for a screen that follows the cluster: leave out --once and -o json",
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

	known  cluster.Snapshot
	screen inspect.Screen
	nodes  int    // without the filter
	chosen string // the name of the node under the cursor
	filter string
	copied string // the name that the last key has copied
	mode   topMode
}

// topMode is what keys are for.
type topMode int

const (
	topLists   topMode = iota // nodes
	topFilters                // nodes, by what is typed
	topDetails                // of one node
	topHelps                  // with the keys
)

func newModel(s snapshots, prices inspect.Prices, view inspect.ScreenView, by inspect.SortKey, reverse bool) *topModel {
	m := &topModel{source: s, prices: prices, view: view, by: by, reverse: reverse}
	m.refresh(time.Now())
	return m
}

// Init implements tea.Model.
func (m *topModel) Init() tea.Cmd { return nextTick() }

// Update implements tea.Model.
func (m *topModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.view.Width, m.view.Height = msg.Width, msg.Height
	case tick:
		m.refresh(time.Time(msg))
		return m, nextTick()
	case tea.KeyPressMsg:
		m.copied = ""
		switch {
		case msg.String() == "ctrl+c":
			return m, tea.Quit
		case m.mode == topHelps:
			m.mode = topLists
		case m.mode == topFilters:
			m.typed(msg)
		default:
			return m, m.press(msg.String())
		}
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
	m.known = known
	m.rebuild()
}

// rebuild makes the screen of the nodes that the filter matches.
func (m *topModel) rebuild() {
	m.screen = inspect.NewScreen(m.known, m.prices)
	m.screen.Sort(m.by, m.reverse)
	m.nodes = len(m.screen.Nodes)
	m.screen.Nodes = slices.DeleteFunc(m.screen.Nodes, func(n inspect.NodeRow) bool { return !n.Matches(m.filter) })
	if m.at() < 0 {
		m.choose(0)
		if m.mode == topDetails {
			m.mode = topLists // the node is removed
		}
	}
}

// mostTyped is how long a filter may be.
const mostTyped = 60

// typed changes the filter by a key.
func (m *topModel) typed(key tea.KeyPressMsg) {
	switch key.String() {
	case "enter":
		m.mode = topLists
		return
	case "esc":
		m.mode, m.filter = topLists, ""
	case "backspace":
		if runes := []rune(m.filter); len(runes) > 0 {
			m.filter = string(runes[:len(runes)-1])
		}
	default:
		if text := key.Key().Text; len(m.filter)+len(text) <= mostTyped {
			m.filter += text
		}
	}
	m.rebuild()
}

// topSorts are the keys that sort.
var topSorts = map[string]inspect.SortKey{
	"p": inspect.ByPool, "n": inspect.ByName, "c": inspect.ByCPU, "m": inspect.ByMemory,
	"d": inspect.ByCost, "a": inspect.ByAge, "s": inspect.ByState,
}

// press does what a key is for.
func (m *topModel) press(key string) tea.Cmd {
	page := max(1, m.view.Height/2)
	switch key {
	case "q", "esc":
		switch {
		case m.mode == topDetails:
			m.mode = topLists
		case key == "esc" && m.filter != "":
			m.filter = ""
			m.rebuild()
		default:
			return tea.Quit
		}
	case "?":
		m.mode = topHelps
	case "/":
		m.mode = topFilters
	case "y":
		if m.chosen != "" {
			m.copied = m.chosen
			return tea.SetClipboard(m.chosen)
		}
	case "enter":
		if len(m.screen.Nodes) > 0 {
			m.mode = topDetails
		}
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

// at is the position of the node under the cursor; -1 if it is not listed.
func (m *topModel) at() int {
	return slices.IndexFunc(m.screen.Nodes, func(n inspect.NodeRow) bool { return n.Name == m.chosen })
}

// choose moves the cursor, at most to the first or last node.
func (m *topModel) choose(at int) {
	if len(m.screen.Nodes) == 0 {
		m.chosen = ""
		return
	}
	m.chosen = m.screen.Nodes[min(max(at, 0), len(m.screen.Nodes)-1)].Name
}

// View implements tea.Model.
func (m *topModel) View() tea.View { return fullScreen(m.drawn()) }

// drawn is what is on the terminal, as many lines as it has.
func (m *topModel) drawn() string {
	if m.view.Width == 0 {
		return "" // the terminal has not reported its size
	}
	view := m.view
	view.Height = max(1, view.Height-1) // for the keys
	view.At = m.at()
	keys, drawn := m.keys(), ""
	switch m.mode {
	case topHelps:
		drawn = topKeys
	case topDetails:
		if detail, ok := m.screen.Detail(m.known, m.chosen); ok {
			drawn = detail.DrawDetail(view)
			break
		}
		fallthrough
	default:
		drawn = m.screen.Draw(view)
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

// keys is the last line.
func (m *topModel) keys() string {
	matching := ""
	if m.filter != "" || m.mode == topFilters {
		matching = fmt.Sprintf("filter %s: %d of %s  ", diag.OneLine(m.filter), len(m.screen.Nodes), diag.Counted(m.nodes, "node"))
	}
	switch {
	case m.copied != "":
		return "copied " + diag.OneLine(m.copied)
	case m.mode == topHelps:
		return "any key  back"
	case m.mode == topDetails:
		return "q, esc back  up, down another node  y copy its name"
	case m.mode == topFilters:
		return matching + "enter keep  esc clear"
	case m.filter != "":
		return matching + "esc clear  / change  ? help"
	}
	return "q quit  enter show  / filter  ? help  sort: p n c m d a s  r reverse"
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

package main

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/inspect"
)

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
	width, height int
	top           int // the first line that is shown
}

// statusTick is when the screen is drawn anew: ages grow without a change.
type statusTick time.Time

func next() tea.Cmd { return tea.Tick(time.Second, func(t time.Time) tea.Msg { return statusTick(t) }) }

// Init implements tea.Model.
func (m *statusModel) Init() tea.Cmd { return next() }

// Update implements tea.Model.
func (m *statusModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case statusTick:
		m.refresh(time.Time(msg))
		return m, next()
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

// refresh takes over what has changed.
func (m *statusModel) refresh(now time.Time) {
	m.given.Now = now
	if lists, changed := m.source.Snapshot(); changed {
		m.lists = lists
	}
	m.found, m.problem = inspect.NewStatus(m.lists, m.given)
}

// View implements tea.Model.
func (m *statusModel) View() tea.View {
	v := tea.NewView(m.drawn())
	v.AltScreen = true
	return v
}

// drawn is what is on the terminal, as many lines as it has.
func (m *statusModel) drawn() string {
	if m.width == 0 {
		return "" // the terminal has not said how large it is
	}
	text := m.found.Text(inspect.StatusView{Width: m.width, All: m.all})
	if m.problem != nil {
		text = m.problem.Error()
	}
	lines, room := strings.Split(strings.TrimSuffix(text, "\n"), "\n"), max(1, m.height-1)
	m.top = max(0, min(m.top, len(lines)-room))
	lines = lines[m.top:min(len(lines), m.top+room)]
	for len(lines) < room {
		lines = append(lines, "")
	}
	return strings.Join(append(lines, "q end  up, down"), "\n")
}

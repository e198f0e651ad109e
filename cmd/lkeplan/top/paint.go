package top

import (
	"io"

	"github.com/charmbracelet/lipgloss"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/engine/top"
)

// painter returns what colors text for a stream; nil where that shows no colors. The
// colors are the terminal's own sixteen, so that they suit its theme.
func painter(out io.Writer, getenv func(string) string) func(top.Ink, string) string {
	if !flags.Colored(out, getenv) {
		return nil
	}
	r := lipgloss.NewRenderer(out)
	styles := map[top.Ink]lipgloss.Style{
		top.Faint:  r.NewStyle().Faint(true),
		top.Good:   r.NewStyle().Foreground(lipgloss.Color("2")),
		top.Full:   r.NewStyle().Foreground(lipgloss.Color("1")),
		top.Alarm:  r.NewStyle().Foreground(lipgloss.Color("1")).Bold(true),
		top.Change: r.NewStyle().Foreground(lipgloss.Color("3")),
		top.Chosen: r.NewStyle().Reverse(true),
	}
	return func(ink top.Ink, text string) string { return styles[ink].Render(text) }
}

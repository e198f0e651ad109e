package main

import (
	"io"

	"charm.land/lipgloss/v2"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/engine/top"
)

// painter returns what colors text for a stream; nil where that shows no colors. The
// colors are the terminal's own sixteen, so that they suit its theme.
func painter(out io.Writer, getenv func(string) string) func(top.Ink, string) string {
	if !flags.Colored(out, getenv) {
		return nil
	}
	styles := map[top.Ink]lipgloss.Style{
		top.Faint:  lipgloss.NewStyle().Faint(true),
		top.Good:   lipgloss.NewStyle().Foreground(lipgloss.Color("2")),
		top.Full:   lipgloss.NewStyle().Foreground(lipgloss.Color("1")),
		top.Alarm:  lipgloss.NewStyle().Foreground(lipgloss.Color("1")).Bold(true),
		top.Change: lipgloss.NewStyle().Foreground(lipgloss.Color("3")),
		top.Chosen: lipgloss.NewStyle().Reverse(true),
	}
	return func(ink top.Ink, text string) string { return styles[ink].Render(text) }
}

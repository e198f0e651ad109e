package main

import (
	"io"

	"charm.land/lipgloss/v2"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/engine/inspect"
)

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
